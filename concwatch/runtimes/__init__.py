"""Engines in other languages: their sources, a folder each, and how they are built and started."""
