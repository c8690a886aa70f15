"""Faults that are injected into the real program, and what must hold: ``python -m tests.faults --help``."""
