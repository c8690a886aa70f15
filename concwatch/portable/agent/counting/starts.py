"""Count tasks created by ``asyncio.Task(…)`` as they start, on Python 3.12 and newer.

Their creation cannot be observed. Once a scan has found such tasks of a function, ``sys.monitoring`` reports
the starts of that function's code, which takes 0.3 to 0.4 µs each, and nothing for other functions.
"""

from __future__ import annotations

import sys
from _weakref import ref

from .counted_group import FREE_THREADED
from .counting import COUNTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, List, Optional

    from .counted_group import CountedGroup

TOOLS = (4, 3)
"""The tool ids of `sys.monitoring` that are not predefined for a kind of tool."""

NAME = "concwatch"

_monitoring: Any = None if FREE_THREADED else getattr(sys, "monitoring", None)


class Starts:
    """The observed starts of functions."""

    def __init__(self) -> None:
        self._possible = _monitoring is not None
        self._tool: Optional[int] = None
        self._codes: List[Any] = []
        """Weak references to the observed code objects."""
        self._current_task: Callable[[], Any] = lambda: None

    def observe(self, group: CountedGroup, code: Optional[CodeType]) -> None:
        """Count the tasks of a group that start from now on, if this Python can. Never raises."""
        if not self._possible or code is None or group.observed is not None:
            return
        event = _monitoring.events.PY_START
        try:
            if self._tool is None:
                self._tool = next(tool for tool in TOOLS if _monitoring.get_tool(tool) is None)
                _monitoring.use_tool_id(self._tool, NAME)
                self._current_task = sys.modules["asyncio"].current_task
                _monitoring.register_callback(self._tool, event, self._started)
            group.observe_starts()
            self._codes.append(ref(code))
            _monitoring.set_local_events(self._tool, code, event)
        except Exception:  # all tool ids are in use
            self._possible = False

    def _started(self, code: CodeType, offset: int) -> None:
        """Count the start of a coroutine if it is a task's, and not awaited by another one."""
        try:
            if self._current_task().get_coro().cr_frame is sys._getframe(1):
                next(COUNTS.groups[id(code)].started)
        except Exception:  # no task runs
            pass

    def remove(self) -> None:
        """Stop observing."""
        tool, self._tool = self._tool, None
        if tool is not None:
            try:
                for code in [reference() for reference in self._codes]:
                    if code is not None:
                        _monitoring.set_local_events(tool, code, 0)
                _monitoring.register_callback(tool, _monitoring.events.PY_START, None)
                _monitoring.free_tool_id(tool)
            except Exception:  # the agent never raises into the program
                pass
        self._codes.clear()


STARTS = Starts()
"""The observed starts of this process."""
