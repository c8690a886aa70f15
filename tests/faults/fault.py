"""One fault: what is done to the program, and how; what must hold is said by the function that does it."""

import asyncio
import inspect
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from concwatch.lab.catalog import find_engines
from tests.commands import Impossible as Impossible

THOROUGH = "FAULTS_THOROUGH"
"""Environment variable: every engine is tried, and seconds are judged."""

PATIENCE = 40.0
"""Seconds that anything may take on a loaded machine."""

Act = Callable[[], Coroutine[Any, Any, str | None] | str | None]


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    name: str
    """Words joined by hyphens, of which the first is the kind."""
    what: str
    """What is injected, for the table."""
    act: Act
    """Does it, and raises if something does not hold; it leaves no process and no file behind."""
    times: int = 5
    """How often ``--all`` injects it."""
    short: bool = False
    """Whether the short round has it."""
    seconds: float = 60.0
    """How long one injection may take on a loaded machine, after which it counts as hung."""

    def inject(self) -> str:
        """Inject it once, and return what was lost in a person's words, or nothing.

        Raises:
            AssertionError: something does not hold.
            Impossible: this machine does not allow it.
        """
        found = self.act()
        return (asyncio.run(found) if inspect.iscoroutine(found) else found) or ""


FAULTS: dict[str, Fault] = {}
"""All there are, by name, in the order of the table."""


def fault(name: str, what: str, **options: Any) -> Callable[[Act], Act]:
    """Return the decorator that makes a fault of a function; ``options`` are the other fields of `Fault`."""

    def add(act: Act) -> Act:
        assert name not in FAULTS, name
        FAULTS[name] = Fault(name, what, act, **options)
        return act

    return add


def thorough() -> bool:
    """Return whether there is time for all, and nothing else on the machine."""
    return bool(os.environ.get(THOROUGH))


def engines(*names: str) -> Sequence[str]:
    """Return those of ``names`` to be tried: all that are there, or in haste the first alone."""
    there = [name for name in names if find_engines([name])[0].missing() is None]
    return there if thorough() else there[:1]
