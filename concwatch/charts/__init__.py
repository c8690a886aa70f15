"""Charts: which there are, how they are scaled, and two painters: for the terminal, and in plain text."""
