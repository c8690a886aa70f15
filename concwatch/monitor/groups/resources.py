"""What a process holds besides its tasks: threads by target, jobs that wait for an executor, open files."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from concwatch.links.agent_messages import AgentTick, ThreadWaits, WaitPlace
from concwatch.monitor.groups.group import most_wait_at, with_place
from concwatch.monitor.metrics.resource_status import ResourceKind, ResourceStatus
from concwatch.monitor.verdicts.events import NOWHERE, Place
from concwatch.monitor.verdicts.growth import Growth, GrowthMeter
from concwatch.monitor.verdicts.growth_verdict import GrowthVerdict
from concwatch.monitor.verdicts.leak_rule import (
    ANYTHING,
    NOT_KNOWN,
    GracePeriod,
    ending_of_threads,
    grace_period,
)
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted, format_count

FILES = "open files and sockets"

POOL_WORKER = "concurrent.futures.thread._worker"
"""The target of an executor's threads, which are started on demand, one by one."""

KEPT = 120.0
"""Seconds for which a count that is no longer reported is kept, for its growth and its peak."""

MOST_GONE = 50
"""The most such counts that are kept: a program may create a thread pool for each request."""


class ResourceReport(Struct, frozen=True):
    """One count as an agent reports it; see `ResourceStatus`."""

    kind: ResourceKind
    name: str
    count: int
    file: str = ""
    line: int = 0
    threads: int = 0
    created: int | None = None
    in_: str = ""

    @property
    def key(self) -> tuple[ResourceKind, str]:
        """Its kind, and what tells it from others of this kind."""
        place = f" {self.file}:{self.line}" if self.kind == "executors" else ""
        return self.kind, self.name + place


def reports_of(tick: AgentTick) -> Iterable[ResourceReport]:
    """Yield the counts of a tick."""
    for thread in tick.threads:
        yield ResourceReport(
            "threads", thread.name, thread.count, thread.file, thread.line, created=thread.created
        )
    for pool in tick.executors:
        yield ResourceReport("jobs", pool.name, pool.queued, threads=pool.threads)
    for one in tick.executor_lines or ():
        file, _, line = one.line.rpartition(":")
        number = int(line) if line.isdigit() else 0
        yield ResourceReport(
            "executors", one.name, one.count, file, number, one.workers, one.created, one.in_
        )
    if tick.files is not None:
        yield ResourceReport("files", FILES, tick.files)


class Resource(GrowthVerdict):
    """One count over time, and the verdict on it. Times are in seconds of the agent's clock."""

    def __init__(self, report: ResourceReport) -> None:
        super().__init__()
        self.report = report
        self.peak = 0
        self.seen = 0.0
        """When it was last reported."""
        self.waits: Sequence[WaitPlace] = ()
        """Where the threads waited when the agent last answered."""
        self._ending = NOT_KNOWN if report.kind == "threads" else ANYTHING
        self._risen = 0

    def update(self, report: ResourceReport, time: float) -> None:
        """Record a count."""
        # What came and went between two readings is not seen, but for executors, whose creation is counted.
        self._risen += max(0, report.count - self.report.count)
        created = self._risen if report.kind != "executors" or report.created is None else report.created
        self.report = report
        self.peak = max(self.peak, report.count)
        self.meter.add(time, report.count, created)

    @property
    def growth(self) -> Growth | None:
        """Its growth over the last two minutes."""
        return self.meter.growth

    @property
    def status(self) -> ResourceStatus:
        """Its current figures."""
        return ResourceStatus(
            **structs.asdict(self.report),
            peak=self.peak,
            grows=self.grows,
            leak=self.leaks,
            measured=self.meter.measured,
            waits=self.waits,
        )

    @property
    def is_evident(self) -> bool:
        """Whether it has risen steadily and, for threads and files, without any of them ending."""
        if self.report.kind == "jobs":
            return self.meter.rises_evenly
        # An executor starts threads until it has enough of them.
        return self.meter.is_evident and self.report.name != POOL_WORKER

    def add_waits(self, waits: ThreadWaits) -> None:
        """Record where the threads wait, and whether nothing can wake them."""
        self.is_answered, self.waits = True, waits.waits
        if self.report.kind == "threads":
            ending = ending_of_threads(waits)
            # The threads of a pool wait for its next job.
            self._ending = ending._replace(others=True) if self.report.name == POOL_WORKER else ending

    def grace_period(self, sockets: int) -> GracePeriod:
        """Return what may end the growth."""
        kind = self.report.kind
        return grace_period(kind, self._ending, self.meter.rise, None if kind == "jobs" else sockets)

    @property
    def place(self) -> Place:
        """Where the function of the threads is defined, or where the executors are created."""
        report = self.report
        function = report.in_ if report.kind == "executors" else report.name
        return Place.at(function, report.file, report.line) if report.file else NOWHERE

    @property
    def label(self) -> str:
        """Its name, with the place of a thread's function."""
        report = self.report
        if report.kind == "executors":
            return f"executors created in {with_place(report.in_ or '?', report.file, report.line)}"
        return with_place(report.name.removeprefix("__main__."), report.file, report.line)

    @property
    def name_in_waits(self) -> str:
        """The name of this executor's queue in the waits of tasks."""
        return f"executor {self.report.name}, in its queue"

    def text(self) -> str:
        """Return what grows and how fast, and where most of the threads wait."""
        report, growth = self.report, self.growth
        rate = growth.text(format_count) if growth else ""
        if report.kind == "jobs":
            jobs = "1 job waits" if report.count == 1 else f"{format_count(report.count)} jobs wait"
            most = self.waits[0] if self.waits else None
            runs = f"; {format_count(most.tasks)} run {most.in_} ({short_place(most.where)})" if most else ""
            return (
                f"{report.name}: {jobs} for its {counted(report.threads, 'thread')}{runs}; "
                f"the queue grows{rate}"
            )
        if report.kind == "files":
            return f"{FILES} grow{rate}, to {format_count(report.count)}"
        if report.kind == "executors":
            workers = "thread" if "Thread" in report.name else "worker"
            return (
                f"{self.label} grow{rate}, to {format_count(report.count)} that are not shut down "
                f"({report.name}), with {counted(report.threads, workers)}"
            )
        waits = most_wait_at(self.waits)
        return f"threads of {self.label} grow{rate}, to {format_count(report.count)}{waits}"


class Resources:
    """The counts of one process."""

    def __init__(self) -> None:
        self._found: dict[tuple[ResourceKind, str], Resource] = {}
        self.sockets = 0
        """The number of open sockets, as far as it is known."""
        self._sockets = GrowthMeter()

    def update(self, tick: AgentTick) -> None:
        """Record the counts of a tick; one that is no longer in its list is 0, and is forgotten later."""
        reports = {report.key: report for report in reports_of(tick)}
        if tick.sockets is not None:
            self.sockets = tick.sockets
            self._sockets.add(tick.time, tick.sockets, 0)
        reported = {"jobs", *(kind for kind, _ in reports)}  # each tick lists all pools
        if tick.executor_lines is not None:
            reported.add("executors")
        for key, report in reports.items():
            if key not in self._found:
                self._found[key] = Resource(report)
        for key, resource in self._found.items():
            if key in reports or key[0] in reported:
                gone = structs.replace(resource.report, count=0, threads=0)
                resource.update(reports.get(key, gone), tick.time)
            if key in reports:
                resource.seen = tick.time
        self._forget([key for key in self._found if key not in reports and key[0] in reported], tick.time)

    def _forget(self, gone: list[tuple[ResourceKind, str]], now: float) -> None:
        """Forget counts that have been gone for too long, and the oldest if there are too many."""
        gone.sort(key=lambda key: -self._found[key].seen)
        for place, key in enumerate(gone):
            resource = self._found[key]
            if not resource.grows and (place >= MOST_GONE or now - resource.seen > KEPT):
                del self._found[key]

    def statuses(self) -> tuple[ResourceStatus, ...]:
        """Return their counts, the highest first."""
        found = sorted(self._found.values(), key=lambda one: -one.report.count)
        return tuple([one.status for one in found])

    def all(self) -> Iterable[Resource]:
        """Return all of them."""
        return self._found.values()

    @property
    def sockets_rise(self) -> int:
        """By how many the open sockets have risen in the last two minutes."""
        return self._sockets.rise

    def add_waits(self, waits: ThreadWaits) -> None:
        """Record where the threads of a target wait."""
        resource = self._found.get(("jobs" if waits.pool else "threads", waits.name))
        if resource is not None:
            resource.add_waits(waits)

    def growing(self) -> str:
        """Return the names of those that leak, for a sentence; empty if none does."""
        return ", ".join(one.label for one in self._found.values() if one.leaks)
