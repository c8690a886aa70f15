"""What a watched process holds besides its tasks, as a snapshot has it."""

from typing import Literal

from msgspec import Struct

ResourceKind = Literal["threads", "jobs", "files"]
"""Threads by target, jobs that wait for an executor, open files and sockets."""


class ResourceStatus(Struct, frozen=True):
    """One count at one moment."""

    kind: ResourceKind
    name: str
    count: int
    threads: int = 0
    """The threads of the executor whose jobs they are."""
    per_minute: float | None = None
    """Its growth, if it grows without end."""
    created: int | None = None
    """Of threads: how many were created, at least."""
