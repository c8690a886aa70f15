"""What this machine can hold and what would stop it: looked up, shown, and proven for threads."""
