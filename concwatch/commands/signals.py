"""A command's work, ended in order by a signal, or when nobody reads any more what it gives."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from concwatch.ui.hangup import is_gone

T = TypeVar("T")

STOPS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end it."""

POLL_INTERVAL = 0.2
"""Seconds between two checks that somebody still reads standard output."""

OUTPUT = 1
"""Descriptor of standard output."""


def run_until_signal(work: Coroutine[Any, Any, T]) -> tuple[T | None, int]:
    """Run a coroutine to its end, or until a signal cancels it, so that workers are ended on the way out.

    Further signals change nothing: closing ends by itself, by force if need be, and cut short it would leave
    workers to be ended with this process. The end of who reads standard output is one too, SIGPIPE of a pipe
    and SIGHUP of a terminal: what would be measured nobody would see. Where SIGHUP is ignored, as nohup asks
    for, it goes on all the same.

    Returns:
        What it gave, or None when it was cancelled, and the number of the first signal, or 0.
    """
    caught: list[int] = []

    def stop(task: "asyncio.Task[Any]", number: int) -> None:
        if not caught:
            task.cancel()
        caught.append(number)

    async def guarded() -> T:
        task = asyncio.current_task()
        assert task is not None
        if sys.platform == "win32":
            return await work
        loop = asyncio.get_running_loop()
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for name in STOPS:
            if not (name == "SIGHUP" and ignored):
                number = int(getattr(signal, name))
                loop.add_signal_handler(number, stop, task, number)
        if ignored:
            return await work

        # A terminal that is gone no longer says that it was one; its SIGHUP may come before or after a check.
        unread = signal.SIGHUP if os.isatty(OUTPUT) else signal.SIGPIPE

        async def watch_output() -> None:
            while not is_gone(OUTPUT):  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(POLL_INTERVAL)
            stop(task, int(unread))

        watching = loop.create_task(watch_output())
        try:
            return await work
        finally:
            watching.cancel()

    try:
        return asyncio.run(guarded()), next(iter(caught), 0)
    except asyncio.CancelledError:
        return None, caught[0]
    except KeyboardInterrupt:  # where an event loop takes no signals
        return None, int(signal.SIGINT)
