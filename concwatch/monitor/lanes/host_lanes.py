"""The lanes of one host, its machine, and admission control that protects its memory."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from msgspec import convert, structs

from concwatch.hosts.host import LOCAL, Host
from concwatch.links.messages import HostFigures
from concwatch.monitor.lanes.admission import AdmissionControl, Capacity
from concwatch.monitor.lanes.forecast import most_held
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import HostStatus, Machine
from concwatch.monitor.verdicts.events import LaneEventSink
from concwatch.portable.machine.limits import SystemLimit, boot_id, system_limits
from concwatch.system.machine import Load, load_now
from concwatch.system.memory import Memory, MemoryBudget, bound_memory, memory_now
from concwatch.system.process import Reading, Sampler

INTERVAL = 1.0
"""Seconds between two readings of a machine's load."""

UNKNOWN_MEMORY = Memory(0, 0, "memory")
"""The memory of a host that has not answered yet: no task is granted there."""


class LocalMachine:
    """This machine: functions that read its memory and load, and its limits on threads with no task live."""

    def __init__(
        self,
        memory: Callable[[], Memory] = memory_now,
        limits: Callable[[], Sequence[SystemLimit]] = system_limits,
        load: Callable[[], Load] = load_now,
    ) -> None:
        self.memory, self.load, self.limits = memory, load, limits()


class RemoteMachine:
    """A remote machine, as the bridges of its lanes report it.

    ``limit`` is the number of bytes that its lanes may use, None for all that is available.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.figures: HostFigures | None = None
        """The last report."""
        self.limits: Sequence[SystemLimit] = ()
        """The limits on threads in the first report."""
        self.used = 0
        """Bytes of memory that its lanes use."""
        self._limit = limit

    @property
    def limited(self) -> bool:
        """Whether its lanes have a memory limit of their own, as those of a Dask worker."""
        return self._limit is not None

    def update(self, figures: HostFigures) -> None:
        """Store a report, unless it is older than the last one."""
        if self.figures is None or figures.time >= self.figures.time:
            self.figures = figures
        if not self.limits:
            self.limits = [
                SystemLimit(limit.name, limit.value, limit.used, limit.per_thread) for limit in figures.limits
            ]

    def status(self, name: str, busy: float | None, delay: float | None) -> HostStatus | None:
        """Return the host's part of a snapshot; None before it has answered.

        Args:
            name: the name of the host.
            busy: share of all its cores that all programs used.
            delay: round-trip time in seconds.
        """
        if self.figures is None:
            return None
        known = convert(self.figures, HostStatus, from_attributes=True)
        return structs.replace(known, name=name, busy=busy, delay=delay)

    def memory(self) -> Memory:
        """Return its memory in the last report; `UNKNOWN_MEMORY` before the first."""
        found = self.figures
        if found is None:
            return UNKNOWN_MEMORY
        left = found.memory_available if self._limit is None else self._limit - self.used
        if self._limit is None or left >= found.memory_available:
            return bound_memory(found.memory_total, found.memory_available, found.memory_group)
        return Memory(self._limit, max(0, left), "memory limit of the Dask worker")

    def load(self) -> Load:
        """Return its CPU time in the last report."""
        found = self.figures
        return Load(found.time, found.busy, found.own, found.cores) if found else Load(0.0, 0.0, 0.0, 1)


class MachineMeter:
    """Measures the load of a machine, and how much of it is not due to each lane."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self.own: Reading | None = None
        """The resources that concwatch itself uses."""
        self.busy: float | None = None
        """Share of all cores that all programs used between the last two readings."""
        self._load = load
        # Begun by the first update, which is after the first frame: psutil takes 11 ms to load.
        self._last: Load | None = None
        self._sampler: Sampler | None = None
        self._lane_seconds: dict[Lane, float] = {}  # CPU seconds of each lane's worker at the last reading

    @property
    def cores(self) -> int:
        """The number of cores of the machine; 0 before the first update."""
        return self._last.cores if self._last else 0

    def update(self, lanes: Sequence[Lane]) -> None:
        """Read the load again, and set for each lane the share of the cores that others used since."""
        before, self._last = self._last, self._load()
        if before:
            self.busy = self._last.busy_since(before)
        for lane in lanes:
            reading = lane.stats.reading
            used = reading.cpu_seconds if reading else 0.0
            last, self._lane_seconds[lane] = self._lane_seconds.get(lane, 0.0), used
            spent = used - last if used >= last else used  # less than before: a new worker
            if before:
                lane.set_others(self._last.others_since(before, spent))

    def update_own(self) -> None:
        """Read the resources that concwatch itself uses, which are known from the second time on."""
        if self._sampler:
            self.own = self._sampler.read()
        else:
            from concwatch.system.by_psutil import PsutilFigures

            with suppress(OSError):  # no file can be opened
                self._sampler = Sampler(figures=PsutilFigures(os.getpid()))

    def snapshot(self, budget: MemoryBudget) -> Machine:
        """Return the machine's part of a snapshot."""
        return Machine(
            **{name: getattr(self.own, name, None) for name in ("rss", "cpu", "threads", "virtual")},
            busy=self.busy,
            room=budget.machine_room,
            total=budget.now.total,
            bound=budget.now.bound,
        )


class HostLanes:
    """The lanes of one host."""

    def __init__(
        self,
        host: Host | None,
        machine: LocalMachine | RemoteMachine,
        budget: int | None,
        settings: Callable[[], Settings],
        log: LaneEventSink,
    ) -> None:
        """Create a host without lanes.

        Args:
            host: the remote host; None for the local one.
            machine: its memory, load and limits.
            budget: bytes that its workers may use together; None for 80 % of what is available.
            settings: returns the common settings of all lanes.
            log: adds an event to the event log.
        """
        self.host = host
        self.name = host.name if host else LOCAL
        self.lanes: list[Lane] = []
        self._settings = settings
        self.machine = machine
        self.present = True
        """False while a host of a cluster has left it."""
        self.sharing: list[Lane] = []
        """The lanes that share its memory budget: its own, and those of hosts that are the same machine."""
        self.capacity = Capacity(
            self.sharing, MemoryBudget(budget, machine.memory), lambda: machine.limits, settings
        )
        self.admission = AdmissionControl(
            self.sharing, self.capacity, partial(log, host.name if host else "")
        )
        self.shares = False
        """Whether its lanes share the budget of another host, which is the same machine."""
        self.meter = MachineMeter(machine.load)
        self._first = self  # of the hosts that are the same machine

    def add(self, lane: Lane) -> None:
        """Add one of its lanes."""
        self.lanes.append(lane)
        self.sharing.append(lane)

    @property
    def identity(self) -> tuple[str, int] | None:
        """What its machine has in common with other hosts on it; None if that is unknown."""
        if isinstance(self.machine, LocalMachine):
            found = boot_id()
            return (found, self.capacity.budget.now.total) if found else None
        figures = None if self.machine.limited else self.machine.figures
        return (figures.boot_id, figures.memory_total) if figures and figures.boot_id else None

    def share(self, other: "HostLanes") -> None:
        """Share the memory budget of another host, since it is the same machine."""
        self._first = other
        other.sharing.extend(self.lanes)
        self.sharing, self.capacity, self.admission, self.shares = (
            other.sharing,
            other.capacity,
            other.admission,
            True,
        )

    def step(self, now: float) -> None:
        """Update the machine from the reports of the bridges, and run admission control."""
        machine = self.machine
        if isinstance(machine, RemoteMachine):
            known = machine.figures is not None
            machine.used = self.capacity.used
            for lane in self.lanes:
                if lane.host is not None and lane.host is not machine.figures:
                    machine.update(lane.host)
            if machine.figures is None:
                return
            if not known and not self.shares:
                self.capacity.budget.update(0)
        if not self.shares:
            self.admission.step(now)

    @property
    def status(self) -> HostStatus | None:
        """The host's part of a snapshot; None for the local host, and before a remote one has answered."""
        if not isinstance(self.machine, RemoteMachine):
            return None
        delays = [lane.delay for lane in self.lanes if lane.delay is not None]
        return self.machine.status(self.name, self.meter.busy, min(delays, default=None))

    def snapshot(self, lane: Lane) -> LaneSnapshot:
        """Return the snapshot of one of its lanes."""
        found = self.capacity.fit(lane) if self.capacity.budget.known else Fit(0, "")
        # Rounded to three digits, so that it rarely changes while a lane is measured.
        weight = float(f"{self.capacity.demand(lane).one_more:.3g}")
        status, settings = lane.status, self._settings()
        status = structs.replace(
            status,
            bytes_per_task=weight,
            fits=found.tasks,
            fits_limit=found.limit,
            fits_forecast=found.forecast,
            most_held=most_held(lane.engine, settings),
        )
        return LaneSnapshot(
            lane.facts,
            status,
            lane.sample,
            blocks=lane.stats.blocks.ranked(),
            target=lane.target,
            refused=lane.burst_refused,
            anatomy=lane.anatomy,
            anatomy_refused=lane.anatomy_refused,
            idle_heap=lane.stats.idle_heap,
            idle=lane.idle,
            wanted=lane.wanted,
            present=self.present,
            machine_name=self._first.name,
            machine_cores=self.meter.cores,
        )
