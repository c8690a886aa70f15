"""Faults that are injected into the real program, and what must hold: see README.md."""
