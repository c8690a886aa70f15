"""An event loop whose clock does not wait: if nothing is ready, it jumps to the next timer.

For labs of fake workers, which use the loop's time; not for real processes or threads.
"""

import asyncio
import selectors
from time import monotonic
from unittest.mock import patch


class _Selector(selectors.SelectSelector):
    """A selector that advances the time instead of waiting."""

    passed = 0.0
    """Seconds that have been skipped."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now; wait only if there is no timer."""
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(None if timeout is None else 0)
        if timeout is not None and timeout > 0 and not ready:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at time 0 and whose timers take no real time."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._clock.passed


def now() -> float:
    """Return the time of the running loop, or the system's if none is running."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return monotonic()


# Textual's timers sleep on the loop, and read the clock that they find when they are first imported: here.
with patch("time.monotonic", now):
    import textual.timer  # noqa: F401


def fast(work):
    """Run a coroutine on a new virtual loop and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
