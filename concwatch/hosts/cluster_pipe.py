"""A program beside a Dask worker, by its standard streams."""

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from concwatch import wire
from concwatch.hosts import plugin
from concwatch.links.link import Arrival, Ended
from concwatch.links.output import OUT, Output
from concwatch.text import one_line, plain

KILL_LIMIT = 0.4
"""Seconds in which a bridge that is to end reports it, or counts as ended."""

ACKNOWLEDGED = plugin.WINDOW // 4
"""Bytes that have been taken in before a Dask worker is told so."""


class ClusterPipe:
    """A program beside a Dask worker, by its standard streams: a `concwatch.hosts.host.Pipe`."""

    def __init__(self, order: Callable[[str, object], None], beat: Callable[[int], None]) -> None:
        """Have the plugin follow what is given to ``order``; ``beat`` takes the number of a sign of life."""
        self._order, self._beat = order, beat
        self._came: deque[tuple[int, Any]] = deque()
        # It never has to pause: the plugin sends no more than has been acknowledged.
        self._output = Output(lambda fd: None, lambda fd: None)
        self._taken = 0
        self._killed: float | None = None
        self._over = False
        self.echoed = 0.0
        """When the last answer to a sign of life came."""

    def take(self, what: int, value: Any) -> None:
        """Take a report of the plugin. Called by the thread of the cluster."""
        if what == OUT and b'"echo"' in value:
            self.echoed = monotonic()
        self._came.append((what, value))

    @property
    def error_line(self) -> str:
        """The line of its standard error, so far, that says most about its end."""
        return self._output.error_line

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has come since the last call."""
        while self._came and not self._over:
            what, value = self._came.popleft()
            if what == plugin.EXIT:
                self._over = True
                self._output.exited(value)
            elif what == plugin.FAILED:
                self._end(one_line(plain(value)))
            else:
                self._taken += len(value)
                self._output.feed(what, value)
        if self._killed is not None and not self._over and monotonic() - self._killed > KILL_LIMIT:
            self._end("was ended")
        if self._taken >= ACKNOWLEDGED and not self._over:
            self._order(plugin.TAKEN, self._taken)
            self._taken = 0
        return self._output.arrivals()

    def _end(self, reason: str) -> None:
        self._over = True
        self._output.end(Ended(reason, ran=False))

    def send(self, type_: str, **fields: Any) -> None:
        """Send one line; what cannot arrive any more is dropped."""
        if type_ == "beat":
            self._beat(fields["number"])
        elif not self._over:
            self._order(plugin.DATA, wire.encode(type_, **fields))

    def kill(self) -> None:
        """End it by force, now."""
        if self._killed is None:
            self._killed = monotonic()
            self._order(plugin.CLOSE, None)
