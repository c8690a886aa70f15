"""Fuzz tests of everything that reads external input; see ``python -m tests.fuzz --help``."""
