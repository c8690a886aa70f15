"""Benchmarks, each figure with its reference: ``python -m tests.benchmarks``.

Nothing here passes or fails: the figures are to be read, and for the README.md of this folder.
"""
