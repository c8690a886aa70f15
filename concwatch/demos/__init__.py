"""Demos: short Python files that play the real program with real workers, and the pictures made of them."""
