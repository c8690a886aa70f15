"""What both sides share: the wire, the messages on it, workloads, units and text."""

PROTOCOL = 1
"""The version of the wire: here, since no worker needs the 20 KB of its specification, `wire`."""
