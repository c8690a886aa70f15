"""The standard streams of a bridge beside a Dask worker."""

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from concwatch.hosts import plugin
from concwatch.links.link import Arrival, Ended
from concwatch.links.output import OUT, ProcessOutput
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.portable.protocol.text import one_line, plain

KILL_TIMEOUT = 0.4
"""Seconds after which a bridge that was to end, but has not reported its exit, counts as ended."""

ACK_SIZE = plugin.WINDOW // 4
"""Bytes that are received before they are acknowledged."""


class ClusterPipe(ProcessOutput):
    """A `concwatch.hosts.host.Pipe` to a bridge beside a Dask worker.

    Its pipes are never paused: the plugin stops sending until bytes are acknowledged.

    Args:
        order: sends an order and its value to the plugin.
        beat: sends the heartbeat with a number to all bridges.
    """

    def __init__(self, order: Callable[[str, object], None], beat: Callable[[int], None]) -> None:
        super().__init__()
        self._order, self._beat = order, beat
        self._received: deque[tuple[int, Any]] = deque()
        self._unacknowledged = 0
        self._killed: float | None = None
        self._over = False
        self.echoed = 0.0
        """When the last echo arrived."""

    def receive(self, what: int, value: Any) -> None:
        """Receive a report of the plugin. Called in the cluster's thread."""
        if what == OUT and b'"echo"' in value:
            self.echoed = monotonic()
        self._received.append((what, value))

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call."""
        while self._received and not self._over:
            what, value = self._received.popleft()
            if what == plugin.EXIT:
                self._over = True
                self.exited(value)
            elif what == plugin.FAILED:
                self._stop(one_line(plain(value)))
            else:
                self._unacknowledged += len(value)
                self.pipe_data_received(what, value)
        if self._killed is not None and not self._over and monotonic() - self._killed > KILL_TIMEOUT:
            self._stop("was ended")
        if self._unacknowledged >= ACK_SIZE and not self._over:
            self._order(plugin.ACK, self._unacknowledged)
            self._unacknowledged = 0
        return super().arrivals(now)

    def _stop(self, reason: str) -> None:
        self._over = True
        self.end(Ended(reason, ran=False))

    def send(self, type_: str, **fields: Any) -> None:
        """Send one line; it is dropped once the bridge has ended."""
        if type_ == "beat":
            self._beat(fields["number"])
        elif not self._over:
            self._order(plugin.DATA, encode(type_, **fields))

    def kill(self) -> None:
        """Close the bridge's input, and kill it if it does not exit."""
        if self._killed is None:
            self._killed = monotonic()
            self._order(plugin.CLOSE, None)
