"""Screens and dialogs that fill the terminal: the monitor, experiments, a race, a sweep."""
