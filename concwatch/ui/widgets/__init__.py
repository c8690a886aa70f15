"""Widgets that know nothing of lanes or the lab, and those that show them."""
