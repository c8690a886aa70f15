"""The measured side: one engine in a process of its own. Standard library only, and Python 3.9 will do."""
