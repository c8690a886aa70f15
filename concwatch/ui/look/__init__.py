"""Themes, and the rules of the layout for each size of terminal."""
