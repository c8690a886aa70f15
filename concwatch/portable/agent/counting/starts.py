"""Count tasks created by ``asyncio.Task(…)`` as they start, on Python 3.12 and newer.

Their creation cannot be observed. Once a scan has found such tasks of a function, ``sys.monitoring`` reports
the starts of that function's code, which takes 0.3 to 0.4 µs each, and nothing for other functions.
"""

from __future__ import annotations

import sys
from _weakref import ref

from ..basics.guard import guarded
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

    @guarded("tasks that were created by asyncio.Task(…)")
    def observe(self, group: CountedGroup, code: Optional[CodeType]) -> None:
        """Count the tasks of a group that start from now on, if this Python can. Never raises."""
        if not self._possible or code is None or group.observed is not None:
            return
        event = _monitoring.events.PY_START
        if self._tool is None:
            tool = next((tool for tool in TOOLS if _monitoring.get_tool(tool) is None), None)
            if tool is None:
                self._possible = False
                return
            _monitoring.use_tool_id(tool, NAME)
            self._tool = tool
            self._current_task = sys.modules["asyncio"].current_task
            _monitoring.register_callback(self._tool, event, self._started)
        group.observe_starts()
        self._codes.append(ref(code))
        _monitoring.set_local_events(self._tool, code, event)

    @guarded("tasks that were created by asyncio.Task(…)")
    def _started(self, code: CodeType, offset: int) -> None:
        """Count the start of a coroutine if it is a task's, and not awaited by another one."""
        try:
            task = self._current_task()
        except RuntimeError:  # no loop runs
            return
        if task is not None and getattr(task.get_coro(), "cr_frame", None) is sys._getframe(2):
            group = COUNTS.groups.get(id(code))
            if group is not None:
                next(group.started)

    @guarded("tasks that were created by asyncio.Task(…)")
    def remove(self) -> None:
        """Stop observing. Never raises."""
        tool, self._tool = self._tool, None
        codes, self._codes = self._codes, []
        if tool is not None:
            for code in [reference() for reference in codes]:
                if code is not None:
                    _monitoring.set_local_events(tool, code, 0)
            _monitoring.register_callback(tool, _monitoring.events.PY_START, None)
            _monitoring.free_tool_id(tool)


STARTS = Starts()
"""The observed starts of this process."""
