"""The base classes of screens and dialogs, the model of keys, and what panels see of the monitor screen."""
