"""What the machine does while the lanes run: its load, by whom, and what concwatch itself takes."""

from collections.abc import Callable, Sequence

from concwatch.lab.lane import Lane
from concwatch.lab.snapshot import Machine
from concwatch.system.machine import Load
from concwatch.system.memory import MemoryBudget
from concwatch.system.process import Reading, Sampler

INTERVAL = 1.0
"""Seconds between two looks."""


class MachineMeter:
    """Reads a machine's load once a second, and gives each lane the share that others have had."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self.own: Reading | None = None
        """What concwatch itself takes."""
        self._load = load
        self._last = load()
        self._sampler = Sampler()
        self.busy: float | None = None
        """Share of all cores that all programs used between the last two looks."""
        self._lane_seconds: dict[Lane, float] = {}  # CPU that each lane's worker had used at the last look

    def look(self, lanes: Sequence[Lane]) -> None:
        """See what CPU time has been used since the last look, and by whom."""
        before, self._last = self._last, self._load()
        self.own = self._sampler.read()
        self.busy = self._last.busy_since(before)
        for lane in lanes:
            tally = lane.worker.tally
            used = tally.reading.cpu_seconds if tally.reading else 0.0
            last, self._lane_seconds[lane] = self._lane_seconds.get(lane, 0.0), used
            spent = used - last if used >= last else used  # less than before: another worker's
            tally.others = self._last.others_since(before, spent)

    def picture(self, budget: MemoryBudget) -> Machine:
        """Return what a snapshot says of the machine."""
        own = self.own
        return Machine(
            rss=own.rss if own else None,
            cpu=own.cpu if own else None,
            threads=own.threads if own else None,
            virtual=own.virtual if own else None,
            busy=self.busy,
            room=budget.machine_room,
            total=budget.now.total,
            bound=budget.now.bound,
        )
