"""Control groups of concwatch's own: one for each worker, which counts what the kernel holds for it.

The memory controller counts kernel memory exactly, but only what was allocated since a process joined the
group; `ControlGroup.kernel` is therefore of use as a difference. Standard library: bridges on other hosts
use it.
"""

from __future__ import annotations

import os
from itertools import count
from math import inf
from time import monotonic, perf_counter

from concwatch.portable.machine.kernel_memory import READ_INTERVAL, READ_SHARE, KernelObjects
from concwatch.portable.machine.limits import ROOT_GROUP, cgroup_folders, read_text
from concwatch.portable.machine.process_reader import LINUX, ProcFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

PREFIX = "concwatch-"
"""The names of the folders begin with it and the pid of the process that made them, which is not unique among
containers."""

_USAGES = ("memory.kmem.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes")
"""Version 1: the files that add up to the kernel memory of a group. Reading one takes 1 µs."""

_STATISTICS = "memory.stat"
"""Version 2: the file of the fields below. The kernel sums it up over all processors: 0.1 ms and more."""

_KERNEL_FIELDS = ("kernel_stack", "pagetables", "slab", "sock")

_LIMITS = ("memory.max", "memory.high", "cpu.max", "pids.max", "cpuset.cpus")
"""Version 2: the limits of a group, all of which a sibling would escape."""

_REMOVE = (
    "("
    "cat <&3; n=0; "
    'while [ -d "$0" ] && [ $n -lt 100 ]; do rmdir "$0"/* "$0"; n=$((n+1)); sleep 0.05; done'
    ") &"
)
"""A shell command that returns at once; when its file descriptor 3 closes, the folder ``$0`` is removed."""


class ControlGroup:
    """A control group of one process.

    Args:
        folder: its folder, which does not exist yet.
        pid: the process, which is moved into it with all its threads.
        on_removed: called when it has been removed.

    Raises:
        OSError: its kernel memory is not counted, or the process cannot be moved into it.
    """

    def __init__(self, folder: str, pid: int, on_removed: Callable[[], None] = lambda: None) -> None:
        """Create the group and move the process into it."""
        self._folder, self._on_removed = folder, on_removed
        os.mkdir(folder)
        try:
            usages = [name for name in _USAGES if os.path.exists(f"{folder}/{name}")]
            self._files = [ProcFile(f"{folder}/{name}") for name in usages or [_STATISTICS]]
            self.cheap = bool(usages)
            """Whether reading `kernel` takes only microseconds."""
            with open(f"{folder}/cgroup.procs", "wb", buffering=0) as file:
                file.write(b"%d" % pid)
        except OSError:
            os.rmdir(folder)
            raise

    @property
    def kernel(self) -> Optional[int]:
        """Bytes of kernel memory that its processes have allocated since they joined; None if it has gone."""
        texts = [file.text() for file in self._files]
        if not texts[0]:
            return None
        if self.cheap:
            return sum(map(int, texts))
        rows: Dict[str, int] = {}
        for line in texts[0].splitlines():
            name, _, value = line.partition(" ")
            rows[name] = int(value)
        return sum(rows.get(name, 0) for name in _KERNEL_FIELDS)

    def remove(self) -> None:
        """Remove it, now that its process has been reaped; if another one lingers, `WorkerGroups` does it."""
        try:
            os.rmdir(self._folder)
        except OSError:
            pass
        self._on_removed()


class GroupObjects(KernelObjects):
    """Those of a process in a control group of its own: what the group counts besides stacks and page tables.

    Args:
        group: the group, which the process has just joined.
        figures: those of the process at that moment; what it had allocated before is not counted.
    """

    way = "control group"

    def __init__(self, group: ControlGroup, figures: Dict[str, int]) -> None:
        self.group = group
        self._before = (group.kernel or 0) - _counted(figures)
        self._read_at, self._seconds = -inf, 0.0
        self._objects: Optional[int] = 0

    def at(self, figures: Dict[str, Any]) -> Optional[int]:
        """Return their bytes; the last ones if reading takes long and was done just before."""
        now = monotonic()
        interval = 0.0 if self.group.cheap else max(READ_INTERVAL, self._seconds / READ_SHARE)
        if now >= self._read_at + interval:
            began = perf_counter()
            kernel = self.group.kernel
            self._objects = None if kernel is None else max(0, kernel - _counted(figures) - self._before)
            self._read_at, self._seconds = now, perf_counter() - began
        return self._objects

    def close(self) -> None:
        """Remove the group."""
        self.group.remove()


def _counted(figures: Dict[str, int]) -> int:
    return figures["kernel_stack"] + figures["page_tables"]


class WorkerGroups:
    """The groups of this process's workers, in one folder, which is removed after the last of them.

    It is removed however this process ends: by a shell that waits for that.

    Args:
        parents: the groups in which it may be made, the first choice first; None for `suitable_parents`.
    """

    def __init__(self, parents: Optional[List[str]] = None) -> None:
        self._parents = parents
        self._folder: Optional[str] = None
        self._open_end = -1
        """The write end of a pipe, which closes when this process ends."""
        self._numbers = count(1)
        self._used = 0
        """The groups that have not been removed."""

    def add(self, pid: int) -> Optional[ControlGroup]:
        """Move a process that has just started into a group of its own; None where that is impossible."""
        try:
            self._folder = self._folder or self._create()
            if self._folder is None:
                return None
            group = ControlGroup(f"{self._folder}/{next(self._numbers)}", pid, self._removed)
        except OSError:
            return None
        self._used += 1
        return group

    def _removed(self) -> None:
        self._used -= 1
        if not self._used:
            self._folder = None
            os.close(self._open_end)

    def _create(self) -> Optional[str]:
        """Create the folder in the first group that allows it; None if none does."""
        if self._parents is None:
            self._parents = suitable_parents()
        while self._parents:
            folder = f"{self._parents[0]}/{PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
            try:
                os.mkdir(folder)
            except OSError:
                del self._parents[0]
                continue
            try:
                self._remove_at_end(folder)
            except OSError:
                os.rmdir(folder)
                raise
            if os.path.exists(f"{folder}/cgroup.subtree_control"):
                with open(f"{folder}/cgroup.subtree_control", "wb", buffering=0) as file:
                    file.write(b"+memory")
            return folder
        return None

    def _remove_at_end(self, folder: str) -> None:
        """Start a shell, not as a child, that removes the folder once this process has ended."""
        waiting, self._open_end = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _REMOVE, folder],
            {"PATH": "/usr/bin:/bin"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, waiting, 3),
                *((os.POSIX_SPAWN_DUP2, null, n) for n in range(3)),
            ],
            setpgroup=0,  # so that Ctrl-C in the terminal does not end it
        )
        os.close(waiting)
        os.close(null)
        os.waitpid(pid, 0)


def suitable_parents(root: str = ROOT_GROUP, own: str = "/proc/self/cgroup") -> List[str]:
    """Return the control groups below which a worker's may be made without escaping a limit of this process.

    In version 1 that is the group of this process. In version 2, a group that holds processes cannot have
    groups with controllers below it: there it is the parent, if this one has no limits of its own, as in a
    session of systemd that the user may divide further.
    """
    if not LINUX:
        return []
    folders = cgroup_folders("memory", root, own)
    if not folders:
        return []
    inner, above = folders[0], folders[1:2]
    if any(os.path.exists(f"{inner}/{name}") for name in _USAGES):
        return [inner]
    limited = any(read_text(f"{inner}/{name}").split()[:1] not in ([], ["max"]) for name in _LIMITS)
    return [] if limited else [folder for folder in above if "memory" in _controllers(folder)]


def _controllers(folder: str) -> List[str]:
    return read_text(f"{folder}/cgroup.subtree_control").split()
