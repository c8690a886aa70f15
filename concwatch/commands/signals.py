"""A command's work, ended in order by a signal."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> tuple[T | None, int]:
    """Run a coroutine to its end, or until a signal cancels it, so that workers are ended on the way out.

    Every further signal cancels it once more.

    Returns:
        What it gave, or None when it was cancelled, and the number of the first signal, or 0.
    """
    caught: list[int] = []

    def stop(task: "asyncio.Task[Any]", number: int) -> None:
        caught.append(number)
        task.cancel()

    async def guarded() -> T:
        task = asyncio.current_task()
        assert task is not None
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and sys.platform != "win32":
                number = int(getattr(signal, name))
                if name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:  # as nohup asks for
                    continue
                asyncio.get_running_loop().add_signal_handler(number, stop, task, number)
        return await work

    try:
        return asyncio.run(guarded()), next(iter(caught), 0)
    except asyncio.CancelledError:
        return None, caught[0]
    except KeyboardInterrupt:  # where an event loop takes no signals
        return None, int(signal.SIGINT)
