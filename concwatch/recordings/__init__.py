"""Sessions kept in files: written while they run, and read back as what the screen knew at any moment."""
