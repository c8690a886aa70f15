"""The variables of running and suspended functions, read without leaving copies in their frames."""

from __future__ import annotations

import sys

from ..basics.own_code import is_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

SNAPSHOTS = sys.version_info < (3, 13)
"""Whether ``f_locals`` of a function is a dictionary in its frame, with copies of its variables."""

USES_SNAPSHOT = frozenset(("locals", "vars", "dir", "eval", "exec"))
"""The functions that may use this dictionary."""

MAX_DEPTH = 500
"""The most frames of a stack that are examined."""

_OPTIMIZED = 1
"""The flag of code whose variables are not in a dictionary."""

FrameType: Any = type(sys._getframe())


def variables_of(frame: Any) -> Dict[str, Any]:
    """Return a copy of the variables of a function; empty if they cannot be read without a trace."""
    code = frame.f_code
    is_used = SNAPSHOTS and (frame.f_trace is not None or USES_SNAPSHOT.intersection(code.co_names))
    if is_used or not code.co_flags & _OPTIMIZED:
        return {}
    variables = frame.f_locals
    copy = dict(variables)
    if SNAPSHOTS:  # the copies would keep the objects alive
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            variables.pop(name, None)
    return copy


def outermost_first(frame: Any) -> List[Any]:
    """Return the frames of a stack up to this one, at most `MAX_DEPTH`.

    Without those of the agent that are running: a list of them in one of their variables would be a cycle.
    """
    frames: List[Any] = []
    while frame is not None and is_agent(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and len(frames) < MAX_DEPTH:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]
