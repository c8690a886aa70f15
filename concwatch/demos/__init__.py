"""Demos: short files of steps as a person would do them, played in the real program with real workers."""
