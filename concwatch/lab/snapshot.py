"""One frozen picture of all lanes at one moment: what screens, recordings and measurements look at.

A snapshot is made of the very parts that a recording holds, so one that is read back from a file is the same.
Bytes, seconds, tasks and tasks a second throughout; shares are of 1; None is what is not known.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from concwatch.lab.forecast import Fit
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.messages import BurstDone

Count = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""What other programs take for a whole number, too."""

Time = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds: three centuries. More is damage."""


class Sample(Struct, array_like=True, frozen=True, gc=False):
    """What each sample of a lane says; `concwatch.recordings.format` says what each place holds."""

    lane: Count
    time: Time
    rss: Count | None
    created_per_second: float | None
    completed_per_second: float | None
    live: Count | None
    lag: float | None
    cpu: float | None
    threads: Count | None
    virtual: Count | None
    tick_time: float | None
    created: Count | None
    completed: Count | None
    failed: Count | None
    cancelled: Count | None
    queued: Count | None
    gc: float | None
    completed_mean: float | None
    stalled: float
    rss_per_task: float | None = None
    measured_live: Count | None = None
    cpu_seconds: float | None = None
    cpu_per_task: float | None = None
    switches: Count | None = None
    switches_per_second: float | None = None
    others: float | None = None
    duration: float | None = None
    # What is seldom known comes last: a recording leaves out the nulls at the end.
    traced: Count | None = None
    tracer: Count | None = None
    traced_per_task: float | None = None
    heap: Count | None = None

    @property
    def retained(self) -> int | None:
        """Bytes resident once all tasks have ended; None while there are some, or have been none."""
        return self.rss if self.live == 0 and self.created else None


COLUMNS = Sample.__struct_fields__


def blank_sample(lane: int, time: float, **known: float | None) -> Sample:
    """Return a sample of which nothing is known but what is given."""
    values: dict[str, Any] = {**dict.fromkeys(COLUMNS), "stalled": 0.0, **known}
    return Sample(**{**values, "lane": lane, "time": time})


class LaneStatus(Struct, frozen=True):
    """What changes seldom of a lane; `concwatch.recordings.format` says what each field is."""

    state: State = State.OFF
    reason: str = ""
    target: Count = 0
    asked: Count = 0
    wall: str = ""
    wall_text: str = ""
    create_rate: float | None = None
    create_seconds: float | None = None
    create_others: float | None = None
    stop_seconds: float | None = None
    completion_rate: float | None = None
    longest_stall: float | None = None
    wake_lag_p99: float | None = None
    start_delay_p99: float | None = None
    duration_p50: float | None = None
    duration_p99: float | None = None
    peak_live: Count = 0
    peak_rss: Count | None = None
    idle_rss: Count | None = None
    idle_virtual: Count | None = None
    idle_traced: Count | None = None
    runtime: str | None = None
    pid: Count | None = None
    flags: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    born: Time = 0.0
    tracing: bool = False
    clean: bool = False
    bytes_per_task: float = 1.0
    fits: Count = 0
    fits_wall: str = ""
    missing: str | None = None
    burst: BurstDone | None = None


class EngineFacts(Struct, frozen=True):
    """What never changes of a lane."""

    name: str
    task: str = ""
    queues: bool = False
    threads: bool = False
    grain: Count = 0
    """Bytes that its runtime takes from the system at once: what they come to a task is its uncertainty."""
    host: str = ""
    """Where it runs, if not on the machine of whoever watches."""


class LaneSnapshot(Struct, frozen=True):
    """One lane."""

    engine: EngineFacts
    status: LaneStatus
    sample: Sample
    cheapest: float | None = None
    """The least bytes a task of all lanes at that moment."""

    @property
    def name(self) -> str:
        """The engine's."""
        return self.engine.name

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self.status.state.on

    @property
    def live(self) -> int:
        """Tasks created and not yet ended."""
        return self.sample.live or 0

    @property
    def failed(self) -> int:
        """Tasks that ended with an error."""
        return self.sample.failed or 0

    @property
    def fit(self) -> Fit:
        """How many tasks would fit if nothing else ran, and what comes first."""
        return Fit(self.status.fits, self.status.fits_wall)


class Machine(Struct, frozen=True):
    """What concwatch itself takes, and what the machine has."""

    rss: Count | None = None
    cpu: float | None = None
    threads: Count | None = None
    virtual: Count | None = None
    busy: float | None = None
    """Share of all cores that all programs used."""
    room: Count = 0
    """Memory that workers might take in all, what they take included."""
    total: Count = 0
    bound: str = "memory"
    """Which memory binds: ``memory`` or ``cgroup memory``."""


class HostStatus(Struct, frozen=True):
    """Another host: what it has, and how far it is."""

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
    """Seconds that a sign of life takes there and back."""


class Snapshot(Struct, frozen=True):
    """All lanes, and what they have in common."""

    time: float
    """Seconds on the clock of whoever took it."""
    elapsed: float
    """Seconds since the lab was made, or the recording began."""
    hz: float
    budget: int
    lanes: tuple[LaneSnapshot, ...]
    settings: Settings
    machine: Machine
    hosts: tuple[HostStatus, ...] = ()
    """The other hosts that have answered."""

    @property
    def total_rss(self) -> int:
        """Of all workers together."""
        return sum(lane.sample.rss or 0 for lane in self.lanes)


def with_cheapest(
    lanes: "list[tuple[EngineFacts, LaneStatus, Sample]]",
) -> tuple[LaneSnapshot, ...]:
    """Join the parts of each lane, and what is least of all."""
    costs = [sample.rss_per_task for _, _, sample in lanes if sample.rss_per_task]
    cheapest = min(costs, default=None)
    return tuple(LaneSnapshot(*parts, cheapest) for parts in lanes)
