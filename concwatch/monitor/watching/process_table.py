"""The lanes of all processes that were found, by number and by pid."""

from concwatch.monitor.processes.watched import WatchedProcess
from concwatch.monitor.processes.watched_host import WatchedHost
from concwatch.monitor.verdicts.events import LaneEventSink

MAX_LANES = 1_000
"""The most lanes; further processes take over those of processes that have ended."""


class ProcessTable:
    """The lane of each process, which is kept after the process has ended.

    Args:
        host: where the processes run.
        log: adds an event of any lane.
    """

    def __init__(self, host: WatchedHost, log: LaneEventSink) -> None:
        self.lanes: list[WatchedProcess] = []
        self.left_out = 0
        """How many ended processes have lost their lanes to others."""
        self._host, self._log = host, log
        self._by_pid: dict[int, WatchedProcess] = {}

    def find(self, pid: int) -> WatchedProcess | None:
        """Return the lane of the process that was the last one with this pid; None if there was none."""
        return self._by_pid.get(pid)

    def add(self, pid: int, ppid: int, name: str, now: float) -> WatchedProcess | None:
        """Return the lane of a running process, adding it if it is new; None beyond `MAX_LANES`."""
        lane = self._by_pid.get(pid)
        if lane is not None and lane.alive:
            return lane
        number = len(self.lanes)
        if number >= MAX_LANES:
            ended = self._longest_ended()
            if ended is None:
                return None
            number = ended.number
            if self._by_pid.get(ended.pid) is ended:
                del self._by_pid[ended.pid]
            self.left_out += 1
        lane = WatchedProcess(number, pid, ppid, name, self._host, self._log, now)
        self.lanes[number : number + 1] = [lane]
        self._by_pid[pid] = lane
        return lane

    def _longest_ended(self) -> WatchedProcess | None:
        """Return a process that has ended, the one that began first; never the program itself."""
        ended = [lane for lane in self.lanes[1:] if not lane.alive]
        return min(ended, key=lambda lane: lane.began, default=None)
