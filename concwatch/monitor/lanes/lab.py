"""All lanes together: one clock, common settings, a memory budget for each host, one event log."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from concwatch.hosts.host import Host
from concwatch.links.link import Link
from concwatch.monitor.lanes.common_settings import CommonSettings, on_off
from concwatch.monitor.lanes.fleet import Fleet, Reconnect
from concwatch.monitor.lanes.host_lanes import INTERVAL, LocalMachine
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.lanes.servers import Server, ServerKeeper
from concwatch.monitor.lanes.traced_lanes import TracedLanes
from concwatch.monitor.metrics.observable import Observable
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot, with_cheapest
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.worker_life import STOP_LIMIT
from concwatch.portable.protocol.units import format_count
from concwatch.portable.protocol.workloads import is_function

DEFAULT_HZ = 10.0
LEAST_HZ = 10.0
"""The minimum of steps per second, even with fewer samples: a worker can allocate gigabytes in a second."""

CLOSE_LIMIT = 0.5
"""Seconds that workers have to exit when the lab closes, before they are killed."""

KILL_LIMIT = 5.0
"""Seconds to wait for killed workers to exit, on a busy machine."""


class Lab(Observable):
    """Runs the lanes, with or without a screen. Everything happens on one event loop, in `step`."""

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        open_link: Callable[[Engine], Link],
        settings: Settings | None = None,
        budget: int | None = None,
        hz: float = DEFAULT_HZ,
        open_server: Callable[[str], Server] = Server,
        clock: Callable[[], float] = time.monotonic,
        machine: LocalMachine | None = None,
        reconnect: bool = False,
        trials: bool = False,
        cluster: Callable[[], Sequence[Host]] | None = None,
    ) -> None:
        """Create a lab with one lane per engine, all off.

        Args:
            engines: rows of the catalog.
            open_link: starts a worker.
            settings: the common settings of all lanes.
            budget: bytes of memory that the workers of a host may use; None for 80 % of what is available.
            hz: samples per second.
            open_server: starts the server that tasks of a workload, given by its word, connect to.
            clock: returns seconds that never go back.
            machine: reads this machine; None to really read it.
            reconnect: whether lanes that have lost their host are reconnected.
            trials: whether traced lanes show the cost of an untraced task, measured in a worker of its own.
            cluster: returns the hosts that are in a cluster now; hosts that join get lanes.

        Raises:
            ValueError: one line: why the server that tasks are to connect to cannot run.
        """
        super().__init__(clock, hz)
        self.servers = ServerKeeper(open_server, partial(self.log, ""))
        self.fleet = Fleet(
            engines,
            machine or LocalMachine(),
            budget,
            lambda: self.settings.current,
            lambda engine, load, number: Lane(engine, open_link, self.log, hz, load, number),
            self.log,
            cluster,
        )
        self.lanes, self.hosts, self.host_of = self.fleet.lanes, self.fleet.hosts, self.fleet.host_of
        self.settings = CommonSettings(
            settings or Settings(), self.servers, self.lanes, self, self.fleet.apply
        )
        self._traced = TracedLanes(self.lanes if trials else (), open_link, self.settings, self.host_of)
        self._reconnect = Reconnect(self.lanes if reconnect else (), self._switch_on)
        self._update_due = 0.0
        self._machine_due = clock() + INTERVAL / 2  # not beside the first frame, which it would delay

    # Commands; each adds a mark.

    def switch(self, lane: Lane, on: bool) -> None:
        """Switch a lane on or off."""
        self.mark("switch", on_off(on), lane.engine.name)
        if on:
            self.host_of(lane).admission.reset()  # for the target that it resumes
            self.settings.check_server()
            lane.switch_on(self.settings.current, self.clock())
        else:
            lane.switch_off(self.clock())

    def _switch_on(self, lane: Lane, tasks: int) -> None:
        if tasks:
            self.set_target(lane, tasks)
        else:
            self.switch(lane, True)

    def set_target(self, lane: Lane, tasks: int) -> None:
        """Set the target of a lane; a lane that is off is switched on unless ``tasks`` is 0."""
        if tasks and not lane.wanted:
            self.switch(lane, True)
            if not lane.wanted:
                return
        admission = self.host_of(lane).admission
        admission.reset()
        self.mark("target", format_count(tasks), lane.engine.name)
        if tasks:
            self.settings.check_server()
        lane.set_target(tasks, admission.grantable(lane, tasks))

    def trim(self, lane: Lane) -> None:
        """Request that a lane's worker return free memory to the system."""
        self.mark("trim", "", lane.engine.name)
        lane.worker.send_optional("trim")

    def ask_anatomy(self, lane: Lane) -> None:
        """Find what a task of a lane consists of.

        A traced worker is not asked, if possible, but one that holds some tasks untraced for a moment.
        """
        if not self._traced.look(lane):
            self.mark("anatomy", "", lane.engine.name)  # its tasks are stopped meanwhile
            lane.worker.ask_anatomy()

    def stop_all(self) -> None:
        """Switch every lane off."""
        for lane in self.lanes:
            if lane.wanted:
                self.switch(lane, False)

    # Time.

    def step(self, now: float | None = None) -> None:
        """Sample every lane, run admission control, and publish a snapshot."""
        now = self.clock() if now is None else now
        for lane in self.lanes:
            lane.step(now)
        self.settings.adopt_workload()
        self._reconnect.step(now)
        for host in self.hosts:
            host.step(now)
        self._traced.step(now)
        if now >= self._update_due:
            self._update_due = now + INTERVAL
            self.servers.check()
            self.fleet.update_members()
            self.fleet.share_budgets()
        if now >= self._machine_due:
            self._machine_due = now + INTERVAL
            self.fleet.local.meter.update_own()
            for host in self.hosts:
                host.meter.update(host.lanes)
        self.publish(now)

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a snapshot of all lanes."""
        now = self.clock() if now is None else now
        return Snapshot(
            time=now,
            elapsed=now - self.began,
            hz=self.hz,
            budget=self.fleet.budget,
            lanes=with_cheapest([self.host_of(lane).snapshot(lane) for lane in self.lanes]),
            settings=self.settings.current,
            machine=self.fleet.local.meter.snapshot(self.fleet.local.capacity.budget),
            hosts=tuple(filter(None, (host.status for host in self.hosts if host.present))),
            series=tuple(lane.series for lane in self.lanes),
            events=self.events,
            marks=self.marks,
        )

    async def run(self) -> None:
        """Step at the rate of the lab, or faster while tasks grow, until cancelled; never catch up."""
        due = self.clock()
        while True:
            self.step()
            interval = min(1 / max(self.hz, LEAST_HZ), *(host.admission.interval for host in self.hosts))
            due = max(due + interval, self.clock())
            await asyncio.sleep(max(0.0, due - self.clock()))

    async def close(self) -> None:
        """Stop every worker, kill those that do not stop in time, and close the servers."""
        self._traced.trials.stop()
        for lane in self.lanes:
            lane.switch_off(self.clock())
        try:
            await self._end_workers()
        except BaseException:
            self.kill()  # nothing else would end them
            raise
        finally:
            self.servers.close()

    async def _end_workers(self) -> None:
        loop = asyncio.get_running_loop()  # its clock advances even if the lab's does not
        # A function of the user may have a tear-down.
        deadline = loop.time() + (STOP_LIMIT if is_function(self.settings.current.workload) else CLOSE_LIMIT)
        while any(not lane.idle for lane in self.lanes) or self._traced.trials.running:
            if loop.time() > deadline:
                self.kill()
            self.step()
            if loop.time() > deadline + KILL_LIMIT:
                break  # the system cannot end it now; it exits when its input closes
            await asyncio.sleep(0.01)

    def kill(self) -> None:
        """Kill every worker."""
        self._traced.trials.stop()
        for lane in self.lanes:
            lane.worker.connection.kill()
