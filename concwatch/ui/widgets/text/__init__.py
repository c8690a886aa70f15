"""Widgets and tables that draw lines of text themselves."""
