"""Measurements: one worker taken from idle to its end, and what every metric means."""
