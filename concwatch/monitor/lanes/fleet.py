"""All lanes by host: the hosts of a cluster come and go, and lanes that lost their host are reconnected."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from concwatch.hosts.host import Host
from concwatch.monitor.lanes.host_lanes import HostLanes, LocalMachine, RemoteMachine
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import ACTIVE, State
from concwatch.monitor.verdicts.events import LaneEventSink
from concwatch.monitor.workers.catalog import Engine
from concwatch.system.machine import Load

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""Seconds before the first attempt to reconnect, and at most between two attempts."""


class Fleet:
    """All lanes, by host."""

    def __init__(
        self,
        engines: Sequence[Engine],
        machine: LocalMachine,
        budget: int | None,
        settings: Callable[[], Settings],
        make_lane: Callable[[Engine, Callable[[], Load], int], Lane],
        log: LaneEventSink,
        cluster: Callable[[], Sequence[Host]] | None,
    ) -> None:
        """Create a lane for each engine.

        Args:
            engines: rows of the catalog, in the order of their lanes.
            machine: the local machine.
            budget: bytes that the workers of one host may use together.
            settings: returns the common settings of all lanes.
            make_lane: creates a lane from an engine, the load of its host, and its number.
            log: adds an event to the event log.
            cluster: returns the hosts that are in the cluster now; hosts that join get lanes.
        """
        self.lanes: list[Lane] = []
        """All lanes, including those of hosts that have left the cluster: a lane keeps its number."""
        self._budget, self._settings, self._make_lane, self._log = budget, settings, make_lane, log
        self.hosts = [HostLanes(None, machine, budget, settings, log)]
        """The local host first, even if it has no lanes."""
        self._cluster = cluster
        for engine in engines:
            self._add(engine)
        members = [lanes.host for lanes in self.hosts if lanes.host and lanes.host.opener]
        self._kinds = [lane.engine for lane in self.lanes if members and lane.engine.host == members[0]]

    def _add(self, engine: Engine) -> None:
        lanes = next((lanes for lanes in self.hosts if lanes.host == engine.host), None)
        if lanes is None:
            machine = RemoteMachine(engine.host.memory if engine.host else None)
            lanes = HostLanes(engine.host, machine, self._budget, self._settings, self._log)
            self.hosts.append(lanes)
        lane = self._make_lane(engine, lanes.machine.load, len(self.lanes))
        self.lanes.append(lane)
        lanes.add(lane)

    def share_budgets(self) -> None:
        """Let hosts that turn out to be the same machine share the budget of the first."""
        firsts: dict[tuple[str, int], HostLanes] = {}
        for host in self.hosts:
            identity = None if host.shares or not host.lanes else host.identity
            if identity is not None and firsts.setdefault(identity, host) is not host:
                host.share(firsts[identity])

    def host_of(self, lane: Lane) -> HostLanes:
        """Return the host that a lane runs on."""
        return next(lanes for lanes in self.hosts if lane.engine.host == lanes.host)

    @property
    def local(self) -> HostLanes:
        """The lanes of this machine."""
        return self.hosts[0]

    @property
    def memory(self) -> int:
        """Bytes of memory of all workers together, RSS and kernel."""
        return sum(host.capacity.used for host in self.hosts if not host.shares)

    @property
    def budget(self) -> int:
        """Bytes of memory that all workers may use together."""
        counted = (host for host in self.hosts if host.lanes and host.present and not host.shares)
        return sum(host.capacity.budget.size for host in counted)

    @property
    def quiet(self) -> bool:
        """Whether no lane is on."""
        return all(lane.state is State.OFF or lane.state.broken for lane in self.lanes)

    def apply(self, settings: Settings) -> None:
        """Apply changed settings to all lanes."""
        for host in self.hosts:
            host.admission.reset()  # tasks may need more memory from now on
        for lane in self.lanes:
            lane.apply(settings)

    @property
    def is_cluster(self) -> bool:
        """Whether hosts may join and leave."""
        return self._cluster is not None

    def update_members(self) -> None:
        """Add lanes for hosts that have joined the cluster, and record which hosts have left."""
        if self._cluster is None:
            return
        members = self._cluster()
        known = [lanes.host for lanes in self.hosts]
        for host in members:
            if host not in known:
                self._log("", f"{host.name} has joined the cluster", "info")
                for engine in self._kinds:
                    self._add(engine.on(host))
        for lanes in self.hosts:
            present = lanes.host is None or lanes.host.opener is None or lanes.host in members
            if present != lanes.present:
                lanes.present = present
                self._log("", f"{lanes.name} has {'joined' if present else 'left'} the cluster", "info")


class _Attempts(Struct):
    tasks: int
    """The target when the lane was lost."""
    count: int = 0
    due: float = 0.0


class Reconnect:
    """Switches lost lanes on again, with exponential back-off, until they run or are switched off.

    ``switch_on`` switches a lane on with a target.
    """

    def __init__(self, lanes: Sequence[Lane], switch_on: Callable[[Lane, int], None]) -> None:
        self._lanes = lanes
        self._switch_on = switch_on
        self._attempts: dict[Lane, _Attempts] = {}

    def step(self, now: float) -> None:
        """Start the attempts that are due; ``now`` in seconds."""
        for lane in self._lanes:
            attempts = self._attempts.get(lane)
            if lane.state in ACTIVE or lane.state is State.OFF:
                self._attempts.pop(lane, None)
            elif lane.idle and (lane.state is State.LOST or (attempts and lane.state is State.FAILED)):
                self._try(lane, attempts, now)

    def _try(self, lane: Lane, attempts: _Attempts | None, now: float) -> None:
        if attempts is None or not attempts.due:
            attempts = self._attempts.setdefault(lane, _Attempts(lane.target.asked))
            attempts.due = now + min(LONGEST_DELAY, FIRST_DELAY * 2**attempts.count)
        elif now >= attempts.due:
            attempts.count, attempts.due = attempts.count + 1, 0.0
            self._switch_on(lane, attempts.tasks)
