"""What a task calls, if its workload is the user's own function or an HTTP fetch."""

from __future__ import annotations

from concwatch.protocol.workloads import HTTP, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from concwatch.protocol.workloads import Workload


def load_callable(workload: Workload, coroutine: bool) -> Optional[Callable[[], Any]]:
    """Return the user's function or the HTTP fetch that a task calls; None if the engines implement it.

    Args:
        workload: any workload.
        coroutine: whether the engine needs a coroutine function rather than a plain one.

    Raises:
        ValueError: one line that says what is missing.
    """
    if workload.word == USER:
        from concwatch.worker.user_function import load_function  # imports inspect

        return load_function(workload, coroutine)
    if workload.word == HTTP:
        from concwatch.worker.fetch import load_fetch  # imports an HTTP client

        return load_fetch(workload, coroutine)
    return None
