"""All lanes together: one clock, common settings, one memory budget, one event log."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine
from concwatch.lab.fleet import Fleet
from concwatch.lab.host_lanes import HostLanes, OwnMachine
from concwatch.lab.lane import Lane, open_process
from concwatch.lab.lane_state import State
from concwatch.lab.machine_meter import INTERVAL
from concwatch.lab.observable import Observable
from concwatch.lab.pages import PageKeeper, PageServer
from concwatch.lab.reconnect import Reconnect
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import Snapshot, with_cheapest
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


def _on_off(on: bool) -> str:
    return "on" if on else "off"


class Lab(Observable):
    """Drives the lanes, with or without a screen. Everything happens on one event loop, in `step`."""

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        settings: Settings | None = None,
        budget: int | None = None,
        hz: float = DEFAULT_HZ,
        open_link: Callable[[Engine], Link] = open_process,
        open_pages: Callable[[], PageServer] = PageServer,
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
        super().__init__(clock, hz)
        self.pages = PageKeeper(open_pages, partial(self.log, ""))
        self.settings = self.pages.with_page(settings or Settings())
        self.fleet = Fleet(
            engines,
            OwnMachine(memory, walls, load),
            budget,
            lambda: self.settings,
            lambda engine, load, number: Lane(engine, open_link, self.log, hz, load=load, number=number),
            self.log,
            cluster,
        )
        self.lanes, self.hosts = self.fleet.lanes, self.fleet.hosts
        self._reconnect = Reconnect(self.lanes if reconnect else (), self._switch_on)
        self._look_due = 0.0

    @property
    def here(self) -> HostLanes:
        """The lanes of this machine."""
        return self.hosts[0]

    def host_of(self, lane: Lane) -> HostLanes:
        """Return the lanes of the host that one runs on."""
        return self.fleet.of(lane)

    # Commands; each marks itself.

    def switch(self, lane: Lane, on: bool) -> None:
        """Switch a lane on or off."""
        self.mark("switch", _on_off(on), lane.engine.name)
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
        self.mark("target", format_count(tasks), lane.engine.name)
        if tasks:
            self.check_page()
        lane.set_target(tasks, guard.granted(lane, tasks))

    def trim(self, lane: Lane) -> None:
        """Have a lane's worker give memory back."""
        self.mark("trim", "", lane.engine.name)
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
        self.mark("workload", settings.workload)
        self.tell(f"workload {settings.workload}")

    def set_refill(self, on: bool) -> None:
        """Choose whether a task that ends is replaced."""
        effect = "on: a task that ends is replaced" if on else "off: a target is started once"
        self._set("refill", on, _on_off(on), f"refill {effect}")

    def set_trace(self, on: bool) -> None:
        """Choose whether allocations are traced."""
        again = " · lanes start anew at the same target" if any(lane.wanted for lane in self.lanes) else ""
        effect = "on: figures marked ᵗ include its cost" if on else "off"
        self._set("trace", on, _on_off(on), f"tracing {effect}{again}")

    def set_gc(self, mode: str) -> None:
        """Choose the garbage collector's mode, one of `MODES`."""
        assert mode in MODES
        self._set("gc", mode, mode, f"collector {mode}")

    def set_threads(self, count: int) -> None:
        """Choose how many threads serve a pool."""
        self._set("threads", count, format_count(count), f"pool of {format_count(count)} threads")

    def _set(self, name: str, value: object, mark: str, event: str) -> None:
        self._change(**{name: value})
        self.mark(name, mark)
        self.tell(event)

    def check_page(self) -> None:
        """See that the page stands which tasks fetch: where its server has died, start another."""
        try:
            page = self.pages.with_page(self.settings).page
        except ValueError as error:
            self.log("", str(error), "error")
        else:
            if page != self.settings.page:
                self._change(page=page)

    def _change(self, **changes: object) -> None:
        self.settings = structs.replace(self.settings, **changes)
        for host in self.hosts:
            host.guard.asked()  # tasks may weigh more from now on
        for lane in self.lanes:
            lane.apply(self.settings)

    # Time.

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
            self.fleet.follow_cluster()
            for host in self.hosts:
                host.meter.look(host.lanes)
        self.publish(now)

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a picture of all lanes as they are."""
        now = self.clock() if now is None else now
        return Snapshot(
            time=now,
            elapsed=now - self.began,
            hz=self.hz,
            budget=self.budget,
            lanes=with_cheapest([self.host_of(lane).parts(lane) for lane in self.lanes]),
            settings=self.settings,
            machine=self.here.meter.picture(self.here.capacity.budget),
            hosts=tuple(filter(None, (host.status for host in self.hosts if host.present))),
        )

    def _follow_refusals(self) -> None:
        """Have the common workload be one that some lane runs: the others have refused it."""
        running = [lane.worker.orders.settings.workload for lane in self.lanes if lane.on]
        if running and self.settings.workload not in running:
            self.settings = structs.replace(self.settings, workload=running[0])

    # Totals.

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
