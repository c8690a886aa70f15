"""Dialogs that screens and the commands for lanes open."""
