"""The states of a lane."""

from enum import Enum


class State(Enum):
    """What a lane is doing."""

    OFF = "off"
    BUILDING = "building"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    FAILED = "failed"
    LOST = "lost"
    """The connection to another host is broken; whether its worker ran on for some seconds nobody knows."""

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self in COMING + STANDING

    @property
    def broken(self) -> bool:
        """Whether it ended without having been stopped."""
        return self in (State.FAILED, State.LOST)


COMING = (State.BUILDING, State.STARTING)
"""While a worker is not ready yet."""

STANDING = (State.RUNNING, State.STALLED)
"""While a worker takes commands."""
