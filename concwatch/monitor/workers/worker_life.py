"""The life of one worker: its states, with the time limits of starting and stopping."""

import math

from concwatch.links.link import Ended
from concwatch.monitor.metrics.state import State
from concwatch.portable.protocol.text import plain

START_LIMIT = 30.0
STOP_LIMIT = 3.0
"""Seconds that a worker has to start and apply its settings, and to stop before it is killed."""


class WorkerLife:
    """The state of one worker, and why it is in it; time is passed in, in seconds.

    Args:
        exists: whether there is a worker, which is about to start.
        now: when it was started.
    """

    def __init__(self, exists: bool, now: float) -> None:
        self.state = State.STARTING if exists else State.OFF
        self.reason = ""
        """Why it failed or was lost."""
        self._since = now  # when a state with a time limit began

    def build(self) -> None:
        """Record that the worker is being built, for which there is no time limit."""
        self.state = State.BUILDING

    def start(self, now: float) -> None:
        """Record that it is starting, since it has been built."""
        self.state, self._since = State.STARTING, now

    def run(self, stalled: bool = False) -> None:
        """Record that it is running, or has been ``stalled`` meanwhile."""
        self.state = State.STALLED if stalled else State.RUNNING

    def stop(self, now: float) -> None:
        """Record that it has been asked to stop."""
        self.state, self.reason, self._since = State.STOPPING, "", now

    def switch_off(self) -> None:
        """Record that it has ended as it was asked to, or that a failed one is wanted no more."""
        self.state, self.reason = State.OFF, ""

    def fail(self, reason: str) -> None:
        """Record that it has failed."""
        self.state, self.reason = State.FAILED, plain(reason)

    def lose(self, ended: Ended) -> None:
        """Record that the connection to its host is broken."""
        self.state, self.reason = State.LOST, plain(ended.reason)

    def overdue(self, now: float, start_limit: float) -> float | None:
        """Return the time limit in seconds that starting or, once, stopping has exceeded; None if neither."""
        waited = now - self._since
        if self.state is State.STARTING and waited > start_limit:
            return start_limit
        if self.state is State.STOPPING and waited > STOP_LIMIT:
            self._since = math.inf
            return STOP_LIMIT
        return None
