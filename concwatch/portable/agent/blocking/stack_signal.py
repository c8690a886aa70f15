"""Let the monitor see where the main thread is while code holds the interpreter's lock: all else waits then.

`faulthandler` has a signal handler, written in C, that needs no lock: it writes the stack of the thread that
gets the signal to the agent's socket. The monitor only sends the signal to a process that has not reported
for most of a second, although its main thread runs all the time, and only if the handler is still there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

BELOW_LAST = 6
"""Which of the real-time signals is used, counted from the last one; no known program uses it."""


class StackSignal:
    """The signal of this process."""

    def __init__(self) -> None:
        self.number: Optional[int] = None
        """The signal; None before there is a handler, or if that is not possible."""

    def install(self, descriptor: int) -> None:
        """Have stacks written to ``descriptor``, if that is possible."""
        import _signal  # type: ignore[import-not-found]  # ``signal`` would import enum

        try:
            import faulthandler

            number: int = _signal.SIGRTMAX - BELOW_LAST
            if self.number is None and _signal.getsignal(number) != _signal.SIG_DFL:
                return  # the program handles or ignores it
            faulthandler.register(number, descriptor, all_threads=False)
            self.number = number
        except (ImportError, AttributeError, OSError, ValueError, RuntimeError):  # another system
            self.remove()

    def remove(self) -> None:
        """Remove the handler."""
        number, self.number = self.number, None
        if number is not None:
            import faulthandler

            faulthandler.unregister(number)
