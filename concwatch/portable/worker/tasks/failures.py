"""Counts failed tasks by the type of the exception and the line of the user's code that it came from."""

from __future__ import annotations

import os
from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from concwatch.portable.worker.target import TargetTracker

MOST_KINDS = 12
"""Kinds that are counted one by one; the tasks of further ones are counted together."""

OTHERS = ("", "")
"""The kind of the tasks that are counted together."""

PLACE = "_concwatch_place"
"""The attribute of an exception with the line that it came from, if its traceback is lost on the way."""

GROUPS = ("ExceptionGroup", "BaseExceptionGroup")

_CONCWATCH = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


class Failures:
    """The failed tasks of a workload, by kind. Tasks may fail on several threads at once."""

    def __init__(self) -> None:
        self._counts: Dict[Tuple[str, str], int] = {}
        self._lock = Lock()
        self._changed = False

    def add(self, error: BaseException) -> None:
        """Count a task that failed with ``error``."""
        kind = kind_of(error)
        with self._lock:
            counts = self._counts
            if kind not in counts and len(counts) >= MOST_KINDS:
                kind = OTHERS
            counts[kind] = counts.get(kind, 0) + 1
            self._changed = True

    def report(self) -> Dict[str, Any]:
        """Return all counts as a field of a tick if they have changed since the last call, else nothing."""
        if not self._changed:
            return {}
        try:
            from concwatch.portable.agent.basics.names import printable  # only a failure needs it
        except OSError:  # too many files are open: they are reported later
            return {}
        with self._lock:
            self._changed = False
            counts = list(self._counts.items())
        return {
            "failures": [
                {"type": printable(type_), "where": printable(where), "count": count}
                for (type_, where), count in counts
            ]
        }


class FailureReporter:
    """Counts the failed tasks of the workload, and reports the first one with its traceback.

    Args:
        send: sends a report.
        tracker: the target.
        hit_limit: returns whether a task failed because of a limit, which is reported elsewhere.
    """

    def __init__(
        self,
        send: Callable[..., None],
        tracker: TargetTracker,
        hit_limit: Callable[[BaseException], bool],
    ) -> None:
        self._send = send
        self._tracker = tracker
        self._hit_limit = hit_limit
        self.restart()

    def restart(self) -> None:
        """Count again from 0, since the workload has changed."""
        self.counts = Failures()
        """The failed tasks, by kind."""
        self._reported = Lock()  # acquired by the first task that fails

    def add(self, error: BaseException) -> None:
        """Count a failed task, and report the first one."""
        limited = self._hit_limit(error)
        # Tasks that are being replaced belong to the previous workload; the new one may fail later.
        if self._tracker.replacing:
            return
        self.counts.add(error)
        if not limited and self._reported.acquire(blocking=False):
            lines: List[str] = []
            try:
                import traceback  # imports tokenize; needed only for a failure

                lines = traceback.format_exception(type(error), error, error.__traceback__)
            except (ImportError, OSError, MemoryError):  # no file can be opened, or no memory is left
                pass
            self._send(
                "error",
                command=None,
                message=f"a task failed: {type(error).__name__}: {str(error)[:500]}",
                detail="".join(lines)[-8000:],
            )


def kind_of(error: BaseException) -> Tuple[str, str]:
    """Return the type of an exception and the line that it came from, of a group those of its first one."""
    try:
        while type(error).__name__ in GROUPS:
            error = error.exceptions[0]  # type: ignore[attr-defined]  # its class is not in Python 3.9
        return type(error).__name__, getattr(error, PLACE, None) or place_of(error.__traceback__)
    except Exception:  # no file can be opened for an import, no memory is left, or a class is peculiar
        return type(error).__name__, ""


def place_of(traceback: Optional[TracebackType]) -> str:
    """Return the innermost line of the user's own code, or else the outermost line that is not concwatch's.

    Returns:
        The file and the line, such as ``/app/jobs.py:12``; empty if there is neither.
    """
    from concwatch.portable.agent.basics.own_code import is_own  # only a failure needs it

    own = outermost = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_CONCWATCH):
            outermost = outermost or traceback
            if is_own(file):
                own = traceback
        traceback = traceback.tb_next
    found = own or outermost
    return f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}" if found else ""
