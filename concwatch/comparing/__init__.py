"""Two recordings, or two results, side by side: what differs, and whether that is more than the spread."""
