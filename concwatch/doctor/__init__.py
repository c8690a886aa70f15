"""What this machine can hold and what would stop it: looked up, told, and proven for threads."""
