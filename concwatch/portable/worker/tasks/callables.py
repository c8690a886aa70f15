"""What a task calls, if its workload is the user's own function or uses the network."""

from __future__ import annotations

from concwatch.portable.protocol.workloads import CONNECT, HTTP, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from concwatch.portable.protocol.workloads import Workload


def load_callable(workload: Workload, coroutine: bool, token: Any = None) -> Optional[Callable[[], Any]]:
    """Return the function that a task calls; None for a workload that the engines implement.

    Args:
        workload: any workload.
        coroutine: whether the engine needs a coroutine function rather than a plain one.
        token: cancels plain functions that wait; None for a coroutine function.

    Raises:
        ValueError: one line that says what is missing.
    """
    if workload.word == USER:
        if workload.call is not None:
            return workload.call
        from concwatch.portable.worker.tasks.user_function import load_function  # imports inspect

        return load_function(workload, coroutine)
    if workload.word == HTTP:
        from concwatch.portable.worker.tasks.fetch import load_fetch  # imports an HTTP client

        return load_fetch(workload, coroutine)
    if workload.word == CONNECT:
        from concwatch.portable.worker.tasks.connect import load_connect  # imports socket

        return load_connect(workload, coroutine, token)
    return None
