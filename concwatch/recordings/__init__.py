"""Recordings of sessions: written while a session runs, and read back as snapshots of any moment."""
