"""A frozen snapshot of all lanes at one moment: what screens, recordings and measurements read.

A recording stores the parts of a snapshot, so a snapshot read back from a file equals the original. Units are
bytes and seconds; shares are between 0 and 1; None means unknown. The history that is handed with a snapshot
only grows: series and logs are appended to, and never change what they had.
"""

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct, structs

from concwatch.monitor.metrics.metrics import Count, LaneSnapshot, known_cost
from concwatch.monitor.metrics.series import Samples
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.verdicts.events import Event, Kind, Log, Mark


class Machine(Struct, frozen=True):
    """The resources that concwatch itself uses, and those of the machine."""

    rss: Count | None = None
    cpu: float | None = None
    threads: Count | None = None
    virtual: Count | None = None
    busy: float | None = None
    """Share of all cores that all programs used."""
    room: Count = 0
    """Bytes that workers could use in total, including what they use now."""
    total: Count = 0
    bound: str = "memory"
    """Which memory is the limit: ``memory`` or ``cgroup memory``."""


class HostStatus(Struct, frozen=True):
    """A remote host: its resources and its latency."""

    name: str
    system: str
    processor: str
    python: str
    cores: Count
    memory_total: Count
    memory_available: Count
    busy: float | None = None
    """Share of all its cores that all programs used."""
    delay: float | None = None
    """Round-trip time in seconds."""


class Snapshot(Struct, frozen=True):
    """All lanes and their common settings."""

    time: float
    """Seconds on the clock of the lab that took it."""
    elapsed: float
    """Seconds since the lab was created, or since the recording began."""
    hz: float
    budget: int
    lanes: tuple[LaneSnapshot, ...]
    settings: Settings
    machine: Machine
    hosts: tuple[HostStatus, ...] = ()
    """The remote hosts that have answered."""
    series: tuple[Samples, ...] = ()
    """The samples of each lane so far, in the order of the lanes."""
    events: Log[Event] = Log()
    marks: Log[Mark] = Log()
    blocks: Log[Mark] = Log()
    """The blocks of event loops, when each began."""
    event_kinds: Mapping[Kind, int] = {}
    """How many events of each kind there were in a watched program, also those that are not kept."""
    left_out: Count = 0
    """The processes that have ended, and whose lanes are now those of others."""

    @property
    def began(self) -> float:
        """The time of the first sample of any lane; infinity before there is one."""
        return min((samples.began for samples in self.series), default=inf)

    @property
    def total_memory(self) -> int:
        """Bytes of all workers together, RSS and kernel."""
        return sum(lane.sample.memory or 0 for lane in self.lanes)

    @property
    def total_rss(self) -> int:
        """RSS in bytes of all workers together."""
        return sum(lane.sample.rss or 0 for lane in self.lanes)

    @property
    def total_pss(self) -> int | None:
        """PSS in bytes of all running processes together; None unless it is known of each."""
        known = [lane.sample.pss for lane in self.lanes if lane.on]
        return sum(pss for pss in known if pss is not None) if known and None not in known else None


def with_cheapest(lanes: Sequence[LaneSnapshot]) -> tuple[LaneSnapshot, ...]:
    """Return the lanes, each with the fewest bytes per task of all."""
    cheapest = min(filter(None, map(known_cost, lanes)), default=None)
    return tuple(structs.replace(lane, cheapest=cheapest) for lane in lanes)
