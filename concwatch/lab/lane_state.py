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
        """Whether it has ended otherwise than it was told to."""
        return self in (State.FAILED, State.LOST)


COMING = (State.BUILDING, State.STARTING)
"""While a worker does not stand yet."""

STANDING = (State.RUNNING, State.STALLED)
"""While it can be told what to do."""
