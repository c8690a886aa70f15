"""Comparison of two recordings or two results: what differs, and whether that is more than the spread."""
