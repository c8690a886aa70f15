"""The user's own program, watched: its processes, the groups of their tasks, and what grows."""
