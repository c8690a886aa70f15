"""What both sides share: the wire, the messages on it, workloads, units and text."""
