"""The panels that the monitor screen is composed of, one file each."""
