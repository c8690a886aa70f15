"""The CPU quota of a process's control groups, and for how long it has throttled them.

Once the processes of a group have used their quota of a period, usually 0.1 s, the kernel stops them until
the next one begins. Standard library: bridges on other hosts use it.
"""

from __future__ import annotations

import os
from math import inf
from time import monotonic, perf_counter
from typing import NamedTuple

from concwatch.portable.machine.kernel_memory import READ_SHARE
from concwatch.portable.machine.limits import ROOT_GROUP, cgroup_folders, read_text
from concwatch.portable.machine.process_reader import LINUX, ProcFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Optional

SEARCH_INTERVAL = 10.0
"""Seconds between two searches for a process's quota, which may change, as its groups may."""

_STATISTICS = "cpu.stat"

_UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
"""The throttled time in `_STATISTICS`, version 2 and version 1, and its unit in seconds."""


class CpuQuota(NamedTuple):
    """The CPU time that the processes of a control group may use."""

    cores: float
    folder: str
    """That of the group."""


def cpu_quota(folders: Optional[Iterable[str]] = None) -> Optional[CpuQuota]:
    """Return the tightest quota of the control groups ``folders``; None if there is none ("max", -1).

    ``folders`` are by default those of this process.
    """
    found = []
    for folder in cgroup_folders("cpu") if folders is None else folders:
        version1 = (f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
        words = read_text(f"{folder}/cpu.max").split() or [read_text(path) for path in version1]
        if len(words) == 2 and all(map(str.isdecimal, words)) and int(words[1]):
            found.append(CpuQuota(int(words[0]) / int(words[1]), folder))
    return min(found, key=lambda quota: quota.cores, default=None)


def throttled_seconds(statistics: str) -> Optional[float]:
    """Return for how long a group has been throttled, in seconds; None if that is not known.

    The kernel adds up the time of all cores on which the group had something to run.

    Args:
        statistics: the text of its file ``cpu.stat``.
    """
    for line in statistics.splitlines():
        name, _, value = line.partition(" ")
        if name in _UNITS:
            return int(value) * _UNITS[name]
    return None


class Throttling:
    """Reads for how long the tightest CPU quota of a process has throttled its group since this was created.

    Args:
        pid: the process.
        root: the folder of the root group.
        proc: the folder with one for each process.
    """

    def __init__(self, pid: int, root: str = ROOT_GROUP, proc: str = "/proc") -> None:
        self._own, self._root = f"{proc}/{pid}/cgroup", root
        self._cores: Optional[float] = None
        self._seconds: Optional[float] = None
        self._folder = ""
        self._file: Optional[ProcFile] = None
        self._counted: Optional[float] = None
        """The seconds that the kernel had counted at the last reading; None before the first."""
        self._search_due = self._read_due = -inf
        self.fields()

    def fields(self) -> Dict[str, Any]:
        """Return the fields of a reading: ``cpu_quota`` in cores, and ``throttled`` in seconds.

        Without a quota, these are None and 0; where control groups are unknown, None and None. Takes 5 µs, or
        where reading takes longer, such a small share of the time.
        """
        now = monotonic()
        if now >= self._search_due:
            self._search_due = now + SEARCH_INTERVAL
            self._search()
        if self._file is not None and now >= self._read_due:
            began = perf_counter()
            self._read(self._file)
            self._read_due = now + (perf_counter() - began) / READ_SHARE
        return {"cpu_quota": self._cores, "throttled": self._seconds}

    def _search(self) -> None:
        """Find the group with the tightest quota."""
        folders = cgroup_folders("cpu", self._root, self._own)
        quota = cpu_quota(folders)
        self._cores = quota.cores if quota else None
        if self._seconds is None and any(os.path.exists(f"{each}/{_STATISTICS}") for each in folders):
            self._seconds = 0.0
        folder = quota.folder if quota else ""
        if folder != self._folder:
            self._folder, self._file, self._counted = folder, None, None
            if folder:
                try:
                    self._file = ProcFile(f"{folder}/{_STATISTICS}")
                except OSError:
                    pass

    def _read(self, file: ProcFile) -> None:
        counted = throttled_seconds(file.text())
        if counted is None:  # the group has been removed
            return
        if self._counted is not None and self._seconds is not None:
            self._seconds += max(0.0, counted - self._counted)
        self._counted = counted


def throttling_of(pid: int) -> Optional[Throttling]:
    """Return the reader of a process; None on systems other than Linux, which have no control groups."""
    return Throttling(pid) if LINUX else None
