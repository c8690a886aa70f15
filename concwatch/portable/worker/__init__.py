"""The measured side: one engine in a process of its own. Standard library only, Python 3.9 syntax."""
