"""Functions that end the process without ``atexit``, before which the agent sends its last figures."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # ``signal`` would import enum
import os

from ..basics.guard import guarded
from .replacements import named_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

ENDING = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGABRT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM")
"""The signals that are sent to end a process, which is their default action."""


class BeforeExit:
    """The callback that is called before the process ends."""

    def __init__(self) -> None:
        self.callback: Optional[Callable[[], None]] = None

    @guarded("the end of the process")
    def call(self) -> None:
        """Call the callback. Never raises."""
        if self.callback is not None:
            self.callback()

    @guarded("the end of the process")
    def call_if_fatal(self, number: Any) -> None:
        """Call the callback if a signal of this number ends the process. Never raises."""
        if (
            number in [getattr(_signal, name, None) for name in ENDING]
            and _signal.getsignal(number) == _signal.SIG_DFL
            and number not in _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        ):
            self.call()


BEFORE_EXIT = BeforeExit()


def _exit(original: Any) -> Any:
    def _exit(*args: Any, **kw: Any) -> Any:
        BEFORE_EXIT.call()
        return original(*args, **kw)

    return named_like(original, _exit)


def _raise_signal(original: Any) -> Any:
    def raise_signal(*args: Any, **kw: Any) -> Any:
        BEFORE_EXIT.call_if_fatal(args[0] if args else kw.get("signalnum"))
        return original(*args, **kw)

    return named_like(original, raise_signal)


def _kill(original: Any) -> Any:
    def kill(*args: Any, **kw: Any) -> Any:
        if len(args) == 2 and args[0] == os.getpid():
            BEFORE_EXIT.call_if_fatal(args[1])
        return original(*args, **kw)

    return named_like(original, kill)


EXIT_FUNCTIONS: Dict[str, Callable[[Any], Any]] = {
    "_exit": _exit,
    "kill": _kill,
    "raise_signal": _raise_signal,
}
"""The functions of ``os`` and ``signal`` that are replaced, and what replaces them."""
