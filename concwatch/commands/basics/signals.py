"""Running a command's coroutine so that a signal, or the loss of its reader, cancels it."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from concwatch.commands.basics.hangup import is_gone

T = TypeVar("T")

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that cancel it."""

POLL_INTERVAL = 0.2
"""Seconds between two checks that standard output still has a reader."""

OUTPUT = 1
"""The descriptor of standard output."""


def run_until_signal(work: Coroutine[Any, Any, T]) -> tuple[T | None, int]:
    """Run a coroutine until it returns, or until a signal cancels it.

    Only the first signal counts, even after this has returned, so that workers can be ended in order, and
    results can be printed and saved. The loss of the reader of standard output counts as a signal: SIGPIPE
    for a pipe, SIGHUP for a terminal. If SIGHUP is ignored, as under ``nohup``, it does not.

    Returns:
        The result, or None if cancelled; and the number of the first signal, or 0.
    """
    received: list[int] = []
    numbers = [int(getattr(signal, name)) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}  # `asyncio.run` replaces one of them

    async def run() -> T:
        task = asyncio.current_task()
        assert task is not None
        if sys.platform == "win32":
            return await work
        loop = asyncio.get_running_loop()

        def cancel(number: int, frame: object = None) -> None:
            if not received:
                loop.call_soon_threadsafe(task.cancel)
            received.append(number)

        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for number in numbers:
            if not (number == signal.SIGHUP and ignored):
                signal.signal(number, cancel)  # not a handler of the loop, which would end with it
        if ignored:
            return await work

        # Asked now: a closed terminal is no longer a tty, and its SIGHUP may come before or after a check.
        lost_reader = signal.SIGHUP if os.isatty(OUTPUT) else signal.SIGPIPE

        async def watch_output() -> None:
            while not is_gone(OUTPUT):  # noqa: ASYNC110  # the system has no event for it
                await asyncio.sleep(POLL_INTERVAL)
            cancel(int(lost_reader))

        watcher = loop.create_task(watch_output())
        try:
            return await work
        finally:
            watcher.cancel()

    try:
        return asyncio.run(run()), next(iter(received), 0)
    except asyncio.CancelledError:
        return None, received[0]
    except KeyboardInterrupt:  # on Windows
        return None, int(signal.SIGINT)
    finally:
        if not received:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)
