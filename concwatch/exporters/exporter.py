"""What all exporters have in common."""

from typing import Protocol

from concwatch.monitor.metrics.metrics import EXPORTED
from concwatch.monitor.metrics.process_status import PROCESS_METRICS
from concwatch.monitor.watching.watching import Watching

PROCESS_EXPORTED = (*EXPORTED, *(row for row in PROCESS_METRICS if row.openmetrics))
"""The metrics of a process that Prometheus and logs get."""


class Exporter(Protocol):
    """Hands on what is known of a watched program until it is closed."""

    def observe(self, watching: Watching) -> None:
        """Begin to observe a program, which the caller steps."""
        ...

    def close(self) -> None:
        """Hand on what is left, and release everything."""
        ...
