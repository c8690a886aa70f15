"""This machine: its memory, its limits, and the figures of its processes."""
