"""Whatever a file, a line or an argument holds: ``python -m tests.fuzz --help``."""
