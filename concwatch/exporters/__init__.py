"""Exporters of a watched program: OpenMetrics, events as JSON lines, a command for each event."""
