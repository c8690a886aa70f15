"""The base classes of screens and dialogs, the model of keys, and the monitor screen as panels use it."""
