"""What is asked of a process table, by the code that is sent to hosts, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from concwatch.portable.machine.process_reader import Process


class ProcessTable(Protocol):
    """The functions of `concwatch.portable.machine.processes`; psutil has them where ``/proc`` is missing."""

    def find_process(self, pid: int) -> Process | None:
        """Return a running process; None if there is none with this pid."""

    def pids(self) -> list[int]:
        """Return the pids of all processes."""

    def children_of(self, parents: Iterable[int]) -> set[int]:
        """Return the pids of all descendants of ``parents``."""

    def command_of(self, pid: int) -> list[str]:
        """Return a process's command line; empty if it cannot be read."""

    def program_of(self, pid: int) -> str:
        """Return the path of a process's executable; raises OSError."""

    def variable_of(self, pid: int, name: str) -> str | None:
        """Return a variable of a process's environment; None if it is not set; raises OSError."""

    def mapped_files(self, pid: int) -> list[str]:
        """Return the files that are mapped into a process's memory."""
