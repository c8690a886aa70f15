"""Commands for recordings: list, replay, export."""
