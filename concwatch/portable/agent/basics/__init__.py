"""What all rooms of the agent use: its guard against errors of its own, names, and lines of code."""
