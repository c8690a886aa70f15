"""Tables of costs, groups and blocks, of experiments and their results, and the event log."""
