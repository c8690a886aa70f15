"""One fault: what is done to the program, what must hold, and how to do it."""

from collections.abc import Callable
from dataclasses import dataclass


class Impossible(Exception):
    """This machine cannot have the fault injected; the message says why."""


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    ``inject`` does it once, from a fresh program to the last process ended, and raises `AssertionError`
    where something does not hold, or `Impossible`. It leaves nothing behind: no process, no file. What it
    returns is what was lost, in a person's words, ``""`` for nothing.
    """

    name: str
    """Lower case, words joined by hyphens."""
    what: str
    """What is injected, for the table."""
    holds: str
    """What must hold, for the table."""
    inject: Callable[[], str]
    times: int = 5
    """How often ``--all`` injects it."""
    short: bool = True
    """Whether the ordinary suite injects it, once."""
    seconds: float = 60.0
    """How long one injection may take on a loaded machine, after which it counts as hung."""
