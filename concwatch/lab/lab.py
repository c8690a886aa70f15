"""All lanes together: one clock, common settings, one memory budget, one event log."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine
from concwatch.lab.events import EventLog, Severity
from concwatch.lab.host_lanes import HostLanes, OtherMachine, OwnMachine
from concwatch.lab.lane import Lane, open_process
from concwatch.lab.lane_state import State
from concwatch.lab.machine_meter import INTERVAL
from concwatch.lab.marks import NOTE, MarkLog
from concwatch.lab.pages import PageKeeper, Pages, PageServer
from concwatch.lab.reconnect import Reconnect
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import EngineFacts, LaneStatus, Sample, Snapshot, with_cheapest
from concwatch.links.link import Link
from concwatch.system.machine import Load, load_now
from concwatch.system.memory import Memory, memory_now
from concwatch.system.walls import Wall, thread_walls
from concwatch.units import format_count
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import parse

DEFAULT_HZ = 10.0
LEAST_HZ = 10.0
"""Steps a second even where fewer samples are kept: a worker may take gigabytes in a second."""

CLOSE_LIMIT = 0.5
"""Seconds that workers get to end by themselves when the lab closes: after one, none shall be left."""

KILL_LIMIT = 5.0
"""Seconds after that in which the end of those that were killed is waited for, on a busy machine."""


class Lab:
    """Drives the lanes, with or without a screen. Everything happens on one event loop, in `step`."""

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        settings: Settings | None = None,
        budget: int | None = None,
        hz: float = DEFAULT_HZ,
        open_link: Callable[[Engine], Link] = open_process,
        open_pages: Callable[[], Pages] = PageServer,
        clock: Callable[[], float] = time.monotonic,
        memory: Callable[[], Memory] = memory_now,
        walls: Callable[[], Sequence[Wall]] = thread_walls,
        load: Callable[[], Load] = load_now,
        reconnect: bool = False,
        cluster: Callable[[], Sequence[Host]] | None = None,
    ) -> None:
        """Make a lab with one lane an engine, all off.

        Args:
            engines: rows of the catalog.
            settings: what all lanes have in common.
            budget: bytes of RSS that all workers may take together; None for 80 % of what is available.
            hz: samples a second.
            open_link: starts a worker.
            open_pages: starts a page server, when tasks are first to fetch.
            clock: gives seconds that never go back.
            memory: looks at the machine's memory.
            walls: looks at the limits on threads, with no task live.
            load: looks at the CPU time used on this machine.
            reconnect: whether lanes that have lost their host are connected again by themselves.
            cluster: returns the hosts of a cluster that are there now; those that join get lanes.

        Raises:
            ValueError: one line: tasks are to fetch, and no page can be served.
        """
        self.clock = clock
        self.hz = hz
        self.began = clock()
        self.events = EventLog()
        self.marks = MarkLog()
        self.pages = PageKeeper(open_pages, partial(self._note, ""))
        self.settings = self.pages.with_page(settings or Settings())
        self._open_link, self._budget, self._cluster = open_link, budget, cluster
        self.lanes: list[Lane] = []
        """Those of hosts that have left a cluster included: each keeps its place."""
        self.hosts = [
            HostLanes(None, [], OwnMachine(memory, walls, load), budget, self._settings_now, self._note)
        ]
        """The lanes by host; of this machine first, also where there are none."""
        self.arrangement = 0
        """Changes whenever hosts have come or gone."""
        for engine in engines:
            self._add_lane(engine)
        members = [lanes.host for lanes in self.hosts if lanes.host and lanes.host.opener]
        self._kinds = [lane.engine for lane in self.lanes if members and lane.engine.host == members[0]]
        self._reconnect = Reconnect(self.lanes if reconnect else (), self._switch_on)
        self._look_due = 0.0
        self.observers: list[Callable[[Snapshot], None]] = []
        """Called at the end of each step with what is so then; none may raise."""

    def _note(self, lane: str, text: str, severity: Severity = "info") -> None:
        self.events.add(self.clock() - self.began, lane, text, severity)

    def _mark(self, kind: str, text: str, lane: str = "") -> None:
        self.marks.add(self.clock() - self.began, lane, kind, text)

    def _settings_now(self) -> Settings:
        return self.settings

    def _add_lane(self, engine: Engine) -> None:
        host = next((lanes for lanes in self.hosts if lanes.host == engine.host), None)
        if host is None:
            host = HostLanes(
                engine.host,
                [],
                OtherMachine(engine.host.memory if engine.host else None),
                self._budget,
                self._settings_now,
                self._note,
            )
            self.hosts.append(host)
        lane = Lane(
            engine, self._open_link, self._note, self.hz, load=host.machine.load, number=len(self.lanes)
        )
        self.lanes.append(lane)
        host.lanes.append(lane)

    def _follow_cluster(self) -> None:
        """Give lanes to hosts that have joined the cluster, and note which have left."""
        there = self._cluster() if self._cluster else ()
        known = [lanes.host for lanes in self.hosts]
        for host in there:
            if host not in known:
                self._note("", f"{host.name} has joined the cluster")
                for engine in self._kinds:
                    self._add_lane(engine.on(host))
                self.arrangement += 1
        for lanes in self.hosts:
            present = lanes.host is None or lanes.host.opener is None or lanes.host in there
            if present != lanes.present:
                lanes.present = present
                self._note("", f"{lanes.name} has {'joined' if present else 'left'} the cluster")
                self.arrangement += 1

    @property
    def here(self) -> HostLanes:
        """The lanes of this machine."""
        return self.hosts[0]

    def host_of(self, lane: Lane) -> HostLanes:
        """Return the lanes of the host that one runs on."""
        return next(host for host in self.hosts if lane.engine.host == host.host)

    # What a person asks for. Every command marks itself.

    def tell(self, text: str) -> None:
        """Have the event log say what a person did that changes no lane."""
        self._note("", text)

    def note(self, text: str, moment: float) -> None:
        """Mark a ``moment`` (seconds on the lab's clock) with what a person says of it."""
        self.marks.add(moment - self.began, "", NOTE, text)
        self._note("", f"mark: {text}")

    def switch(self, lane: Lane, on: bool) -> None:
        """Switch a lane on or off."""
        self._mark("switch", "on" if on else "off", lane.engine.name)
        if on:
            self.host_of(lane).guard.asked()  # for the target that it takes up again
            self.check_page()
            lane.switch_on(self.settings, self.clock())
        else:
            lane.switch_off(self.clock())

    def _switch_on(self, lane: Lane, tasks: int) -> None:
        if tasks:
            self.set_target(lane, tasks)
        else:
            self.switch(lane, True)

    def set_target(self, lane: Lane, tasks: int) -> None:
        """Ask a lane for so many live tasks; one that is off is switched on for any but none."""
        if tasks and not lane.wanted:
            self.switch(lane, True)
            if not lane.wanted:
                return
        guard = self.host_of(lane).guard
        guard.asked()
        self._mark("target", format_count(tasks), lane.engine.name)
        if tasks:
            self.check_page()
        lane.set_target(tasks, guard.granted(lane, tasks))

    def trim(self, lane: Lane) -> None:
        """Have a lane's worker give memory back."""
        self._mark("trim", "", lane.engine.name)
        lane.worker.send_optional("trim")

    def stop_all(self) -> None:
        """Switch every lane off."""
        for lane in self.lanes:
            if lane.wanted:
                self.switch(lane, False)

    def set_workload(self, spec: str) -> None:
        """Choose what each task does.

        Raises:
            ValueError: one line; nothing is changed.
        """
        settings = self.pages.with_page(structs.replace(self.settings, workload=parse(spec).spec))
        self._change(workload=settings.workload, page=settings.page)
        self._mark("workload", settings.workload)
        self._note("", f"workload {settings.workload}")

    def set_refill(self, on: bool) -> None:
        """Choose whether a task that ends is replaced."""
        self._change(refill=on)
        self._mark("refill", "on" if on else "off")
        self._note(
            "", f"refill {'on: a task that ends is replaced' if on else 'off: a target is started once'}"
        )

    def set_trace(self, on: bool) -> None:
        """Choose whether allocations are traced."""
        self._change(trace=on)
        self._mark("trace", "on" if on else "off")
        again = " · lanes start anew at the same target" if any(lane.wanted for lane in self.lanes) else ""
        note = "on: figures marked ᵗ include its cost" if on else "off"
        self._note("", f"tracing {note}{again}")

    def set_gc(self, mode: str) -> None:
        """Choose the garbage collector's mode, one of `MODES`."""
        assert mode in MODES
        self._change(gc=mode)
        self._mark("gc", mode)
        self._note("", f"collector {mode}")

    def set_threads(self, count: int) -> None:
        """Choose how many threads serve a pool."""
        self._change(threads=count)
        self._mark("threads", format_count(count))
        self._note("", f"pool of {format_count(count)} threads")

    def check_page(self) -> None:
        """See that the page stands which tasks fetch: where its server has died, start another."""
        try:
            page = self.pages.with_page(self.settings).page
        except ValueError as error:
            self._note("", str(error), "error")
            return
        if page != self.settings.page:
            self._change(page=page)

    def _change(self, **changes: object) -> None:
        self.settings = structs.replace(self.settings, **changes)
        for host in self.hosts:
            host.guard.asked()  # tasks may weigh more from now on
        for lane in self.lanes:
            lane.apply(self.settings)

    # What time brings.

    def step(self, now: float | None = None) -> None:
        """Sample every lane once and watch over the budget."""
        now = self.clock() if now is None else now
        for lane in self.lanes:
            lane.step(now)
        self._follow_refusals()
        self._reconnect.step(now)
        for host in self.hosts:
            host.step(now)
        if now >= self._look_due:
            self._look_due = now + INTERVAL
            self.pages.watch()
            if self._cluster is not None:
                self._follow_cluster()
            for host in self.hosts:
                host.meter.look(host.lanes)
        if self.observers:
            snapshot = self.snapshot(now)
            for observe in list(self.observers):  # one may leave meanwhile
                observe(snapshot)

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a picture of all lanes as they are."""
        now = self.clock() if now is None else now
        return Snapshot(
            time=now,
            elapsed=now - self.began,
            hz=self.hz,
            budget=self.budget,
            lanes=with_cheapest([self._lane_parts(lane) for lane in self.lanes]),
            settings=self.settings,
            machine=self.here.meter.picture(self.here.capacity.budget),
            hosts=tuple(filter(None, (host.status for host in self.hosts if host.present))),
        )

    def _lane_parts(self, lane: Lane) -> tuple[EngineFacts, LaneStatus, Sample]:
        capacity = self.host_of(lane).capacity
        found = capacity.fit(lane)
        status = structs.replace(
            lane.status,
            # Of three digits, so that it changes seldom while a lane is measured.
            bytes_per_task=float(f"{capacity.demand(lane).weight.one_more:.3g}"),
            fits=found.tasks,
            fits_wall=found.wall,
        )
        return lane.facts, status, lane.sample

    def _follow_refusals(self) -> None:
        """Have the common workload be one that some lane runs: the others have refused it."""
        running = [lane.worker.orders.settings.workload for lane in self.lanes if lane.on]
        if running and self.settings.workload not in running:
            self.settings = structs.replace(self.settings, workload=running[0])

    # What there is, and what it is held against.

    def groups(self) -> Iterable[tuple[int, tuple[Any, ...]]]:
        """Return nothing: of a worker all tasks are of one kind."""
        return ()

    @property
    def total_rss(self) -> int:
        """Bytes of RSS of all workers together."""
        return sum(host.capacity.taken for host in self.hosts)

    @property
    def budget(self) -> int:
        """Bytes of RSS that all workers may take together."""
        return sum(host.capacity.budget.size for host in self.hosts if host.lanes and host.present)

    async def run(self) -> None:
        """Step at the lab's rate, or faster to watch the budget, until cancelled; never catches up."""
        due = self.clock()
        while True:
            self.step()
            interval = min(1 / max(self.hz, LEAST_HZ), *(host.guard.interval for host in self.hosts))
            due = max(due + interval, self.clock())
            await asyncio.sleep(max(0.0, due - self.clock()))

    async def close(self) -> None:
        """Have every worker end, by force if need be, and wait until none is left; then the page server."""
        for lane in self.lanes:
            lane.switch_off(self.clock())
        try:
            await self._end_workers()
        except BaseException:
            self.kill()  # nobody looks after them any more
            raise
        finally:
            self.pages.close()

    async def _end_workers(self) -> None:
        loop = asyncio.get_running_loop()  # its clock runs on, whatever drives the lab's
        deadline = loop.time() + CLOSE_LIMIT
        while any(not lane.idle for lane in self.lanes):
            if loop.time() > deadline:
                self.kill()
            self.step()
            if loop.time() > deadline + KILL_LIMIT:
                break  # the system itself cannot end it now; it dies with its input
            await asyncio.sleep(0.01)

    def kill(self) -> None:
        """End every worker by force, at once."""
        for lane in self.lanes:
            lane.worker.kill()

    @property
    def quiet(self) -> bool:
        """Whether no lane is on."""
        return all(lane.state is State.OFF or lane.state.broken for lane in self.lanes)
