"""Painters of charts: for terminals, for pictures, for slides, and in plain text."""
