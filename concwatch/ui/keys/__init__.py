"""The keys of every screen, a row each, and the commands that they run."""
