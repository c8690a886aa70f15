"""What concwatch costs, each figure beside its reference: ``python -m tests.benchmarks``.

Nothing here passes or fails: the figures are for people, and for the README.md beside it.
"""
