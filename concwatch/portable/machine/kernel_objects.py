"""How the kernel objects of a process are read: exactly in a control group of its own, else estimated."""

from __future__ import annotations

from concwatch.portable.machine.calibration import Calibration
from concwatch.portable.machine.control_group import GroupObjects, WorkerGroups
from concwatch.portable.machine.kernel_memory import EstimatedObjects, KernelObjects
from concwatch.portable.machine.limits import read_text
from concwatch.portable.machine.process_reader import LINUX, memory_figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


class KernelObjectsSource:
    """Creates the readers of the processes that this one measures.

    Args:
        path: the folder or zip file of the package concwatch.
        delay: seconds after the first reading until an estimate is prepared, if one is needed.
    """

    def __init__(self, path: str, delay: float = 0.0) -> None:
        self._groups = WorkerGroups()
        self._calibration = Calibration(path, delay)

    def of_worker(self, pid: int) -> Optional[KernelObjects]:
        """Return the reader of a worker that has just started, in a control group of its own if possible."""
        group = self._groups.add(pid)
        if group is None:
            return self.of(pid)
        figures = memory_figures(read_text(f"/proc/{pid}/status"))
        if figures is None:  # it has ended already
            group.remove()
            return self.of(pid)
        return GroupObjects(group, figures)

    def of(self, pid: int) -> Optional[KernelObjects]:
        """Return the reader of any process; None where nothing is known of kernel memory."""
        return EstimatedObjects(pid, self._calibration.sizes) if LINUX else None
