"""What all exporters have in common."""

from typing import Protocol

from concwatch.monitor.watching import Watching


class Exporter(Protocol):
    """Hands on what is known of a watched program until it is closed."""

    def observe(self, watching: Watching) -> None:
        """Begin to observe a program, which the caller steps."""
        ...

    def close(self) -> None:
        """Hand on what is left, and release everything."""
        ...
