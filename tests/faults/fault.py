"""A fault: a function that injects it into the program and checks the consequences."""

import asyncio
import inspect
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from concwatch.monitor.workers.catalog import find_engines
from tests.runner import Impossible as Impossible

THOROUGH = "FAULTS_THOROUGH"
"""Environment variable: if set, every engine is tested, time limits are checked, and faults are repeated."""

PATIENCE = 40.0
"""Timeout in seconds, for a loaded machine."""

Act = Callable[[], Coroutine[Any, Any, str | None] | str | None]


@dataclass(frozen=True)
class InjectedFault:
    """One row of the table."""

    name: str
    """Words joined by hyphens; the first is the kind."""
    what: str
    """The title in the table."""
    act: Act
    """Injects the fault and checks the consequences. Leaves no process and no file behind."""
    times: int = 5
    """How often it is injected by a thorough run."""
    seconds: float = 60.0
    """Time limit of one injection, in seconds."""

    def inject(self) -> str:
        """Inject the fault once. Return a description of what was lost, or an empty string.

        Raises:
            AssertionError: a check failed.
            Impossible: this machine cannot run it.
        """
        found = self.act()
        return (asyncio.run(found) if inspect.iscoroutine(found) else found) or ""


FAULTS: dict[str, InjectedFault] = {}
"""All faults by name, in the order of the table."""


def fault(name: str, what: str, **options: Any) -> Callable[[Act], Act]:
    """Return a decorator that adds a function as a fault. ``options`` are other fields of `InjectedFault`."""

    def add(act: Act) -> Act:
        assert name not in FAULTS, name
        FAULTS[name] = InjectedFault(name, what, act, **options)
        return act

    return add


def thorough() -> bool:
    """Return whether all engines are tested and time limits are checked."""
    return bool(os.environ.get(THOROUGH))


def engines(*names: str) -> Sequence[str]:
    """Return the engines to test: all that are installed if thorough, else the first."""
    installed = [name for name in names if find_engines([name])[0].missing() is None]
    return installed if thorough() else installed[:1]
