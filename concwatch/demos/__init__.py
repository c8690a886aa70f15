"""Demos: short Python files that drive the real program and real workers, and the pictures made of them."""
