"""All processes of a watched program together: they come and go, and each is a lane."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence

from concwatch.lab.machine_meter import INTERVAL, MachineMeter
from concwatch.lab.observable import Observable
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.links.agent_link import Agent
from concwatch.links.agent_messages import AgentReady
from concwatch.links.link import Ended
from concwatch.system.memory import MemoryBudget
from concwatch.watch.group import GroupStatus
from concwatch.watch.place import Place, Started
from concwatch.watch.watched import WatchedProcess
from concwatch.watch.words import leak_sentence

HZ = 10.0

SEARCH = 0.5
"""Seconds between two looks for new processes."""

AGENT_LIMIT = 2.0
"""Seconds that an agent gets to connect, from when its process is first seen."""

JUDGE = 1.0
"""Seconds between two looks for leaks."""

MOST_GROUPS = 50
"""Groups of a process that are recorded: the largest."""

MOST_LANES = 1_000
"""Processes followed; further ones are counted."""


UNNAMED = "python -c"
"""What an agent calls a process that was given its program as text, as ``multiprocessing`` does."""


class Watching(Observable):
    """Follows one program, with or without a screen. Everything happens in `step`.

    Args:
        place: where the program runs.
        program: what was started there; None where processes are only attached to.
        hz: ticks and samples a second.
        outcomes: whether agents count how tasks end.
        trace: whether agents trace allocations.
        clock: gives seconds that never go back.
    """

    def __init__(
        self,
        place: Place,
        program: Started | None = None,
        *,
        hz: float = HZ,
        outcomes: bool = False,
        trace: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock, hz)
        self.place, self.program = place, program
        self.lanes: list[WatchedProcess] = []
        self.settings = Settings()
        self.machine = MachineMeter(place.load)
        self.missed = 0
        """Processes that came beyond `MOST_LANES`."""
        self._options = {"outcomes": outcomes, "trace": trace}
        self._budget = MemoryBudget(None, place.memory)
        self._strangers: list[Agent] = []  # whose first report has not come yet
        self._by_pid: dict[int, WatchedProcess] = {}
        self._found: Collection[int] = ()
        self._attached: set[int] = set()
        self._search_due = self._look_due = self._judge_due = 0.0

    def attach(self, pid: int, gdb: bool = False) -> None:
        """Follow a process that runs already, by its agent where one can be had.

        Args:
            pid: the process.
            gdb: whether gdb may put the agent into an older Python.
        """
        self.place.attach(pid, gdb)
        self._attached.add(pid)
        self._search(self.clock())

    @property
    def budget(self) -> int:
        """Bytes of memory that this machine has left for programs."""
        return self._budget.size

    @property
    def alive(self) -> Sequence[WatchedProcess]:
        """The processes that run."""
        return [lane for lane in self.lanes if lane.alive]

    def set_option(self, name: str) -> None:
        """Switch what agents do besides on or off: ``"outcomes"`` or ``"trace"``."""
        on = self._options[name] = not self._options[name]
        for lane in self.alive:
            lane.send(name, on=on)
        self.tell(f"{name} {'on' if on else 'off'}")

    def _lane(self, pid: int, ppid: int, name: str, now: float) -> WatchedProcess | None:
        known = self._by_pid.get(pid)
        if known is not None and known.alive:
            return known
        if len(self.lanes) >= MOST_LANES:
            self.missed += 1
            return None
        lane = WatchedProcess(
            len(self.lanes), pid, ppid, name, self.log, now, self.place.look, self.place.name
        )
        self.lanes.append(lane)
        self._by_pid[pid] = lane
        return lane

    # What time brings.

    def step(self, now: float | None = None) -> None:
        """Take in what has come, look at each process, and judge what grows."""
        now = self.clock() if now is None else now
        self.place.step()
        self._meet(now)
        if now >= self._search_due:
            self._search_due = now + SEARCH
            self._search(now)
        for lane in self.lanes:
            lane.step(now)
        if now >= self._judge_due:
            self._judge_due = now + JUDGE
            self._call_out()
        if now >= self._look_due:
            self._look_due = now + INTERVAL
            self.machine.look(())
            self._budget.update(0)
        self.publish(now)

    def _meet(self, now: float) -> None:
        """Take new connections, each to its lane once its agent has said who it is."""
        self._strangers += self.place.accept()
        waiting = []
        for link in self._strangers:
            first = next(iter(link.arrivals(1)), None)
            if isinstance(first, AgentReady):
                lane = self._lane(link.pid or first.pid, first.ppid, first.name, now)
                if lane is not None:
                    parent = self._by_pid.get(first.ppid)
                    anonymous = first.name == UNNAMED and parent is not None
                    name = f"{parent.called} child" if parent and anonymous else ""
                    lane.connect(link, first, now, name)
                    lane.send("rate", hz=self.hz)
                    for command, on in self._options.items():
                        if on:
                            lane.send(command, on=True)
                    continue
            elif first is None:
                waiting.append(link)
                continue
            if not isinstance(first, Ended):
                link.close()
        self._strangers = waiting

    def _search(self, now: float) -> None:
        """Look for processes that have come, and for those that have gone."""
        self._found = self.place.family()
        for pid in self._found:
            lane = self._by_pid.get(pid)
            if lane is None or not lane.alive:
                try:
                    lane = self._lane(pid, *self.place.facts(pid), now)
                except LookupError:
                    continue
            if lane is None or lane.how != "starting":
                continue
            late = now - lane.began >= AGENT_LIMIT
            reason = self.place.why_outside(pid) if late or pid in self._attached else ""
            if reason:
                lane.see_from_outside(reason)
            elif late:
                lane.wait_for("waits for the program to wake up")
        for lane in self.alive:
            if lane.pid not in self._found and not self.place.exists(lane.pid):
                self._end(lane, now)
        if self.program is not None and self.program.status is not None:
            root = self._by_pid.get(self.program.pid)
            if root is not None and root.alive:
                self._end(root, now)

    def _end(self, lane: WatchedProcess, now: float) -> None:
        program, reason = self.program, "ended"
        if program is not None and lane.pid == program.pid and program.status is not None:
            reason = program.how_it_ended()
        lane.end(reason, now, failed=program is not None and lane.pid == program.pid and bool(program.status))

    def _call_out(self) -> None:
        """Log each group that leaks, once; agents have reported meanwhile where its tasks wait."""
        for lane in self.alive:
            for group in lane.untold_leaks():
                self.log(lane.lane, leak_sentence(group), "warning")
            lane.find_leaks()

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a picture of all processes as they are."""
        now = self.clock() if now is None else now
        return Snapshot(
            time=now,
            elapsed=now - self.began,
            hz=self.hz,
            budget=self.budget,
            lanes=tuple(LaneSnapshot(lane.facts, lane.status, lane.sample) for lane in self.lanes),
            settings=self.settings,
            machine=self.machine.picture(self._budget),
            hosts=self.place.hosts(self.machine.busy),
        )

    def groups(self) -> Iterator[tuple[int, tuple[GroupStatus, ...]]]:
        """Yield each process whose tasks are known by coroutine function, with its largest groups."""
        for lane in self.alive:
            if lane.groups:
                found = sorted(lane.groups.values(), key=lambda group: group.report.live, reverse=True)
                yield lane.number, tuple(group.status for group in found[:MOST_GROUPS])

    def ask_where(self, count: int) -> None:
        """Ask each agent where the tasks of its ``count`` largest groups wait."""
        for lane in self.alive:
            largest = sorted(lane.groups.values(), key=lambda group: group.report.live, reverse=True)
            for group in largest[:count]:
                if group.report.live:
                    lane.send("waits", group=group.report.group)

    @property
    def ended(self) -> str:
        """How the program ended, or why it is not seen any more; nothing while all is well."""
        program = self.program
        if self.place.problem:
            return self.place.problem
        if program is None or program.status is None:
            return ""
        return f"the program {program.how_it_ended()}"

    def close(self) -> None:
        """Let every agent take its hooks back, and listen no more."""
        for lane in self.lanes:
            lane.detach()
        for link in self._strangers:
            link.close()
        self.place.close()
