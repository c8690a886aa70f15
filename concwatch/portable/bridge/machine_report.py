"""The reports of a bridge on its host. Standard library, Python 3.9."""

from __future__ import annotations

import os
import platform
from time import monotonic, process_time

from concwatch.portable.machine.limits import boot_id, system_limits
from concwatch.portable.machine.machine_reader import available_memory, busy_seconds, machine_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

PYTHONS = (*(f"python3.{minor}" for minor in range(9, 20)), "pypy3")
TOOLS = ("go", "cargo", "java", "node", "elixir", "erl", "dotnet", "mono", "uv")
"""Toolchains that a survey looks for."""


def host_report() -> Dict[str, Any]:
    """Return the fields of a ``host`` report: the machine, its memory and its CPU time."""
    total, available, group = available_memory(*machine_memory())
    return {
        "time": monotonic(),
        "name": platform.node()[:200],
        "system": f"{platform.system()} {platform.release()}"[:200],
        "processor": platform.machine()[:200],
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cores": len(os.sched_getaffinity(0)),
        "memory_total": total,
        "memory_available": available,
        "memory_group": group,
        "busy": busy_seconds(),
        "own": process_time(),
        "boot_id": boot_id(),
    }


def limits_report() -> List[Dict[str, Any]]:
    """Return this host's limits on threads."""
    return [
        {"name": limit.name, "value": limit.value, "used": limit.used, "a_thread": limit.per_thread}
        for limit in system_limits()
    ]


def survey_report() -> Dict[str, List[str]]:
    """Return the Pythons and the toolchains of other languages found on the path."""
    import shutil  # only where a survey is asked for

    kinds = {"pythons": PYTHONS, "tools": TOOLS}
    return {kind: [name for name in names if shutil.which(name)] for kind, names in kinds.items()}
