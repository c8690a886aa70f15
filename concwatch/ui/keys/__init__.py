"""The keys of every screen, one row each, and the commands that they run."""
