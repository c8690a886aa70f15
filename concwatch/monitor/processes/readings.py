"""The readings of the memory, CPU time and threads of one watched process."""

from concwatch.monitor.processes.watched_host import ProcessReader, WatchedHost
from concwatch.system.process import Reading


class Readings:
    """Reads the system's figures of a process, at most once in each interval.

    Args:
        host: where the process runs.
        pid: the process.
        now: the time in seconds.
    """

    def __init__(self, host: WatchedHost, pid: int, now: float) -> None:
        self.interval = 0.0
        """The least number of seconds between two readings."""
        self._due = now
        self.reader: ProcessReader | None
        """None if the process has ended."""
        try:
            self.reader = host.reader(pid)
        except LookupError:
            self.reader = None

    def is_due(self, now: float) -> bool:
        """Return whether the next reading is due."""
        return now >= self._due

    def read(self, now: float) -> Reading | None:
        """Return the figures at ``now``; None if the process has ended, or is a zombie."""
        reading = self.read_again()
        if reading is None or not reading.rss:
            self._due = now
            return None
        self._due = now + self.interval
        return reading

    def read_again(self) -> Reading | None:
        """Return the current figures, without regard to the interval; None if the process has ended."""
        return self.reader.read() if self.reader else None

    def close(self) -> None:
        """Read nothing any more."""
        self.reader = None
