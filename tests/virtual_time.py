"""An event loop whose clock does not wait: where nothing is ready, it jumps to the next timer.

For labs of fake workers, whose time is the loop's: what they would wait for is there at once, and the same on
a busy machine. What real processes and threads do takes real time, so they have no place on it.
"""

import asyncio
import selectors
import time


class _Selector(selectors.SelectSelector):
    """Says what is ready, and has time pass in place of waiting."""

    passed = 0.0
    """Seconds that were not waited for."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now; wait only if no timer would ever end that."""
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(None if timeout is None else 0)
        if timeout is not None and timeout > 0 and not ready:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop at time 0 whose timers cost no time."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the seconds that have passed on timers."""
        return self._clock.passed


def now() -> float:
    """Return the time of the running loop, or that of the system where none runs."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


def fast(work):
    """Run a coroutine on a loop of its own whose time does not wait; return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
