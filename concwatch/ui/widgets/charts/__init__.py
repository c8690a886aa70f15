"""Widgets that draw charts, and their grid."""
