"""The commands, one module each, imported on demand."""
