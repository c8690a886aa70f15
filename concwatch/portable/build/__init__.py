"""Builds workers in other languages from their sources, here and on other hosts, and keeps them in a cache.

In: the sources, and the ways to build them. Out: the command that starts the worker, and lines that tell
what is being built.
"""
