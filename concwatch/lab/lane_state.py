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

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self in COMING + STANDING


COMING = (State.BUILDING, State.STARTING)
"""While a worker does not stand yet."""

STANDING = (State.RUNNING, State.STALLED)
"""While it can be told what to do."""
