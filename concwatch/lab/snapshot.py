"""A frozen snapshot of all lanes at one moment: what screens, recordings and measurements read.

A recording stores the parts of a snapshot, so a snapshot read back from a file equals the original. Units are
bytes, seconds, tasks and tasks a second; shares are between 0 and 1; None means unknown.
"""

from enum import Enum
from typing import Annotated, Any

from msgspec import Meta, Struct

from concwatch.lab.forecast import Fit
from concwatch.lab.settings import Settings
from concwatch.links.messages import BurstDone

Count = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A 64-bit integer, so that other programs can read recordings."""

Time = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds, at most three centuries: anything larger is a damaged file."""


class State(Enum):
    """The states of a lane."""

    OFF = "off"
    BUILDING = "building"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    FAILED = "failed"
    LOST = "lost"
    """The connection to the remote host is broken; the worker may have run on for some seconds."""

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self in PENDING + ACTIVE

    @property
    def broken(self) -> bool:
        """Whether the worker ended without having been stopped."""
        return self in (State.FAILED, State.LOST)


PENDING = (State.BUILDING, State.STARTING)
"""The worker is not ready yet."""

ACTIVE = (State.RUNNING, State.STALLED)
"""The worker accepts commands."""


class Sample(Struct, array_like=True, frozen=True, gc=False):
    """One sample of a lane; `concwatch.recordings.format` describes each field."""

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
    # Fields that are rarely known come last: a recording omits trailing nulls.
    traced: Count | None = None
    tracer: Count | None = None
    traced_per_task: float | None = None
    heap: Count | None = None

    @property
    def retained(self) -> int | None:
        """RSS in bytes after all tasks have ended; None while tasks are live or none has been created."""
        return self.rss if self.live == 0 and self.created else None


COLUMNS = Sample.__struct_fields__


def blank_sample(lane: int, time: float, **known: float | None) -> Sample:
    """Return a sample whose fields are None except for the given ones."""
    values: dict[str, Any] = {**dict.fromkeys(COLUMNS), "stalled": 0.0, **known}
    return Sample(**{**values, "lane": lane, "time": time})


class LaneStatus(Struct, frozen=True):
    """What rarely changes about a lane; `concwatch.recordings.format` describes each field."""

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
    rss_moves: bool = False
    cpu_so_far: bool = False
    durations_so_far: bool = False
    bytes_per_task: float = 1.0
    fits: Count = 0
    fits_wall: str = ""
    most_held: Count | None = None
    missing: str | None = None
    burst: BurstDone | None = None


class EngineFacts(Struct, frozen=True):
    """What never changes about a lane."""

    name: str
    task: str = ""
    queues: bool = False
    threads: bool = False
    grain: Count = 0
    """Bytes that its runtime allocates at once; divided by the tasks, the uncertainty of bytes per task."""
    host: str = ""
    """The remote host it runs on; empty for this host."""


class LaneSnapshot(Struct, frozen=True):
    """One lane in a snapshot."""

    engine: EngineFacts
    status: LaneStatus
    sample: Sample
    cheapest: float | None = None
    """The fewest bytes per task of all lanes at that moment."""

    @property
    def name(self) -> str:
        """The name of its engine."""
        return self.engine.name

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
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
        """How many tasks would fit if nothing else ran, and the first wall."""
        return Fit(self.status.fits, self.status.fits_wall)


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

    @property
    def total_rss(self) -> int:
        """RSS in bytes of all workers together."""
        return sum(lane.sample.rss or 0 for lane in self.lanes)


def with_cheapest(
    lanes: "list[tuple[EngineFacts, LaneStatus, Sample]]",
) -> tuple[LaneSnapshot, ...]:
    """Create the lane snapshots, each with the fewest bytes per task of all lanes."""
    costs = [sample.rss_per_task for _, _, sample in lanes if sample.rss_per_task]
    cheapest = min(costs, default=None)
    return tuple(LaneSnapshot(*parts, cheapest) for parts in lanes)
