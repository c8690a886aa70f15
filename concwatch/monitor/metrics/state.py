"""The states of a lane."""

from enum import Enum


class State(Enum):
    """The states of a lane."""

    OFF = "off"
    BUILDING = "building"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    FAILED = "failed"
    LOST = "lost"
    """The connection to the remote host is broken; the worker may have run on for some seconds."""

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self in PENDING + ACTIVE

    @property
    def broken(self) -> bool:
        """Whether the worker ended without having been stopped."""
        return self in (State.FAILED, State.LOST)


PENDING = (State.BUILDING, State.STARTING)
"""The worker is not ready yet."""

ACTIVE = (State.RUNNING, State.STALLED)
"""The worker accepts commands."""
