"""All lanes by the host that they run on, and the hosts of a cluster, which come and go."""

from collections.abc import Callable, Sequence

from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine
from concwatch.lab.host_lanes import HostLanes, Log, OtherMachine, OwnMachine
from concwatch.lab.lane import Lane
from concwatch.lab.settings import Settings
from concwatch.system.machine import Load


class Fleet:
    """All lanes, by host; hosts of a cluster come and go."""

    def __init__(
        self,
        engines: Sequence[Engine],
        machine: OwnMachine,
        budget: int | None,
        settings: Callable[[], Settings],
        make_lane: Callable[[Engine, Callable[[], Load], int], Lane],
        log: Log,
        cluster: Callable[[], Sequence[Host]] | None,
    ) -> None:
        """Make a lane for each engine.

        Args:
            engines: rows of the catalog, in the order of their lanes.
            machine: this one.
            budget: bytes of RSS that the workers of one host may take together.
            settings: returns what all lanes have in common now.
            make_lane: makes a lane of an engine, with the load of its host, and its number.
            log: takes an event.
            cluster: returns the hosts of a cluster that are there now; those that join get lanes.
        """
        self.lanes: list[Lane] = []
        """Those of hosts that have left a cluster included: each keeps its place."""
        self._budget, self._settings, self._make_lane, self._log = budget, settings, make_lane, log
        self.hosts = [HostLanes(None, machine, budget, settings, log)]
        """Of this machine first, also where it has no lanes."""
        self.arrangement = 0
        """Changes whenever hosts have come or gone."""
        self._cluster = cluster
        for engine in engines:
            self._add(engine)
        members = [lanes.host for lanes in self.hosts if lanes.host and lanes.host.opener]
        self._kinds = [lane.engine for lane in self.lanes if members and lane.engine.host == members[0]]

    def _add(self, engine: Engine) -> None:
        there = next((lanes for lanes in self.hosts if lanes.host == engine.host), None)
        if there is None:
            machine = OtherMachine(engine.host.memory if engine.host else None)
            there = HostLanes(engine.host, machine, self._budget, self._settings, self._log)
            self.hosts.append(there)
        lane = self._make_lane(engine, there.machine.load, len(self.lanes))
        self.lanes.append(lane)
        there.lanes.append(lane)

    def of(self, lane: Lane) -> HostLanes:
        """Return the lanes of the host that one runs on."""
        return next(lanes for lanes in self.hosts if lane.engine.host == lanes.host)

    def follow_cluster(self) -> None:
        """Add lanes for hosts that have joined the cluster, and note which have left."""
        if self._cluster is None:
            return
        there = self._cluster()
        known = [lanes.host for lanes in self.hosts]
        for host in there:
            if host not in known:
                self._log("", f"{host.name} has joined the cluster", "info")
                for engine in self._kinds:
                    self._add(engine.on(host))
                self.arrangement += 1
        for lanes in self.hosts:
            present = lanes.host is None or lanes.host.opener is None or lanes.host in there
            if present != lanes.present:
                lanes.present = present
                self._log("", f"{lanes.name} has {'joined' if present else 'left'} the cluster", "info")
                self.arrangement += 1
