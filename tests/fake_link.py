"""A deterministic fake worker, with all commands of a real one."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

from concwatch.links.link import Arrival, Ended, Link
from concwatch.links.messages import (
    Anatomy,
    Applied,
    BurstDone,
    Error,
    Failure,
    Limit,
    Reached,
    Ready,
    TaskPart,
    Tick,
)
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.workloads import CONNECT, HTTP, WORDS, Workload, parse
from concwatch.system.process import Reading


@dataclass(frozen=True)
class Costs:
    """The costs of a fake worker in bytes, its rates in tasks per second, and its limit of tasks."""

    idle: int = 20 << 20
    task: int = 1_260
    traced: int = 1_400
    tracer: int = 750
    create_rate: float = 80_000.0
    cancel_rate: float = 200_000.0
    most: int | None = None
    """The number of tasks at which it hits ``limit``."""
    limit: str = "vm.max_map_count"
    runtime: str = "CPython 3.11.7"
    heap: int | None = None
    """Bytes of a task on the heap, for a runtime that reports its heap and cannot be traced."""
    served: int | None = None
    """How many tasks run at once; further ones wait, but count as running. None for all."""
    refused: int | None = None
    """The number of live tasks beyond which further ones fail at once, as `REFUSED` says."""


REFUSED = "ConnectionRefusedError", "/app/jobs.py:12"

KERNEL_PARTS = ("kernel_stack", "page_tables", "kernel_objects")
KERNEL_OF_A_THREAD = (16_384, 4_160, 6_950)
"""Bytes that the kernel holds for a thread, by what they are."""

FEWEST_LOOKED_AT = 100
ANATOMY = (
    ("coroutine sleep and its frame", 1, 0.4),
    ("Task", 1, 0.3),
    ("TimerHandle", 1, 0.2),
    ("str", 2, 0.09),
)
"""What a task consists of besides its stack: names, how many of each, and their shares."""

COSTS = {
    "threads": Costs(10 << 20, 16_600, 3_200, 1_300, 5_000, 15_000, most=21_800),
    "pool": Costs(12 << 20, 2_040, 1_700, 800, 140_000, 400_000),
    "asyncio": Costs(),
    "uvloop": Costs(22 << 20, 1_570, 1_300, 700, 110_000, 220_000),
    "gevent": Costs(17 << 20, 8_500, 4_000, 800, 40_000, 60_000),
    "sequential": Costs(10 << 20, 1, 0, 0, 400_000, 10_000_000),
    "go": Costs(6 << 20, 2_720, create_rate=900_000, cancel_rate=400_000, runtime="Go 1.26.0", heap=480),
}


@dataclass
class Fault:
    """A fault, ``after`` seconds from the start."""

    after: float
    arrival: Arrival | None = None
    """The message to send; `Ended` ends the worker."""
    silence: float = 0.0
    """Seconds without messages after it."""


Answers = Mapping[tuple[str, object], Arrival]
"""By a command and its first value: the message that answers it in place of what it would do."""


@dataclass
class _Counts:
    created: float = 0.0
    completed: float = 0.0
    cancelled: float = 0.0
    failed: float = 0.0

    @property
    def live(self) -> float:
        return self.created - self.completed - self.cancelled - self.failed


class FakeLink:
    """A `Link` whose worker creates, completes and cancels tasks according to its `Costs`."""

    def __init__(
        self,
        engine: Engine,
        costs: Costs | None = None,
        faults: Sequence[Fault] = (),
        answers: Answers | None = None,
    ) -> None:
        self.engine = engine
        self.costs = costs or COSTS.get(engine.name, Costs())
        self.sent: list[tuple[str, dict[str, object]]] = []
        """All commands so far, with their fields."""
        self.scripted: list[Arrival] = []
        """What it says next, after its own messages."""
        self._answers = answers or {}
        self._out: deque[Arrival] = deque()
        self._faults = sorted(faults, key=lambda fault: fault.after, reverse=True)
        self._began: float | None = None
        self._now = self._silent_until = 0.0
        self._counts = _Counts()
        self._durations: list[float] = []  # of the cohorts completed since the last tick
        # When tasks complete, how many, and how long they take; the oldest first.
        self._cohorts: deque[tuple[float, float, float]] = deque()
        self._queued: list[tuple[str, dict[str, object]]] = []  # commands received while it was silent
        self._most_live = 0.0
        self._peak_rss = 0
        self._target = 0
        self._left = 0.0
        self._served_until = 0.0  # when all tasks so far have been served, if only some run at once
        self._ending = 0.0  # the fraction of a task that should have ended
        # The time of the target, and the tasks created and cancelled before it.
        self._growth: tuple[float, float, float] | None = None
        self._burst: tuple[float, BurstDone] | None = None  # time of its end, and its report
        self._refill, self._trace = True, False
        self._workload = parse("sleep:10")
        self._ended = False

    # The interface of a link.

    def send(self, type_: str, **fields: object) -> None:
        """Handle a command at once, or at the end of a silence."""
        self.sent.append((type_, fields))
        answer = self._answers.get((type_, next(iter(fields.values()), None)))
        if answer is not None:
            self.scripted.append(answer)
        elif self._ended:
            return
        elif self._now < self._silent_until:
            self._queued.append((type_, fields))
        else:
            self._handle(type_, fields)

    def _handle(self, type_: str, fields: dict[str, object]) -> None:
        try:
            match type_, fields:
                case "target", {"tasks": int(tasks)}:
                    self._target = tasks
                    self._left = max(0.0, tasks - self._counts.live)
                    self._growth = self._now, self._counts.created, self._counts.cancelled
                case "halt", {"wall": str(limit), "value": int(value)}:
                    self._halt(limit, value, "")
                case "burst", {"tasks": int(tasks), "chunks": int(chunks), "read_after": read_after}:
                    self._begin_burst(tasks, chunks, read_after is not None)
                case "stop", _:
                    self.kill()
                case "workload", {"spec": str(spec)}:
                    self._change_workload(parse(spec), fields.get("url"))
                case "refill", {"on": bool(on)}:
                    self._refill = on
                case "trace", {"on": bool(on)}:
                    self._trace = on
                case "anatomy", _:
                    self._out.append(self._anatomy())
        except ValueError as error:
            self._out.append(Error(str(error), type_))
        else:
            if type_ not in ("target", "halt", "stop", "burst"):
                self._out.append(Applied(type_, 0.0))

    def commands(self, type_: str) -> list[dict[str, object]]:
        """Return the fields of every command of one type, oldest first."""
        return [fields for sent, fields in self.sent if sent == type_]

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Simulate the time until ``now``, and return the messages sent meanwhile."""
        scripted, self.scripted = self.scripted, []
        return [*self._simulated(now), *scripted]

    def _simulated(self, now: float) -> Sequence[Arrival]:
        if self._began is None:
            self._began = self._now = now
            pool = self.engine.name == "pool"
            can: tuple[str, ...] = ("trim", "burst")
            if self.costs.heap is None:
                can = ("trace", "gc", "trim", "burst", "stack", "anatomy", *(["threads"] if pool else []))
            flags = ("6 threads",) if pool else ()
            name, runtime = self.engine.name, self.costs.runtime
            self._out.append(Ready(name, runtime, 4242, flags=flags, can=can, workloads=WORDS))
        self._advance(now)
        self._apply_faults(now)
        if now < self._silent_until:
            return []
        queued, self._queued = self._queued, []
        for type_, fields in queued:
            self._handle(type_, fields)
        found = list(self._out)
        self._out.clear()
        return found if self._ended else [*found, self.tick()]

    def reading(self) -> Reading | None:
        """Return the memory of the tasks; half the memory of ended tasks is retained."""
        if self._ended or self._began is None:
            return None
        live = self._counts.live
        size: float = self.costs.task + ((self.costs.traced + self.costs.tracer) * 0.65 if self._trace else 0)
        if self._workload.word == "payload":
            size += _numbers(self._workload)[0]
        retained = max(0.0, self._most_live * 0.5 - live)
        threads = 3 + (int(live) if self.engine.threads else 0)
        rss = int(self.costs.idle + size * live + self.costs.task * retained)
        self._peak_rss = max(self._peak_rss, rss)
        cpu = self._counts.created / self.costs.create_rate
        held = (each * threads for each in KERNEL_OF_A_THREAD)
        kernel: dict[str, Any] = dict(zip(KERNEL_PARTS, held, strict=True))
        return Reading(
            rss,
            0.02,
            threads,
            cpu_seconds=cpu,
            peak_rss=self._peak_rss,
            objects_known="control group",
            **kernel,
        )

    def kill(self) -> None:
        """End the worker, even a silent one."""
        self.end(Ended("killed by SIGKILL"))

    def end(self, end: Ended) -> None:
        """End the worker or its connection, unless it has ended."""
        if not self._ended:
            self._ended = True
            self._silent_until = self._now
            self._out.append(end)

    # Commands.

    def _change_workload(self, workload: Workload, url: object) -> None:
        if workload.word in (HTTP, CONNECT) and not url:
            raise ValueError(f'workload "{workload.spec}" needs a "url"')
        self._workload = workload
        self._counts.cancelled += self._counts.live
        self._cohorts.clear()
        self._left = self._target

    def _anatomy(self) -> Anatomy:
        """Return what a task consists of: objects, and for a thread its stack."""
        live, task = int(self._counts.live), self.costs.task
        if live < FEWEST_LOOKED_AT:
            raise ValueError(f"{live} tasks are live; to tell what each has, {FEWEST_LOOKED_AT} are needed")
        stack = 8_192 if self.engine.threads else 0
        parts = [TaskPart("stack pages touched", stack)] if stack else []
        rest = task - stack
        for name, count, share in ANATOMY:
            parts.append(TaskPart(name, int(rest * share), count))
        payload = int(_numbers(self._workload)[0]) if self._workload.word == "payload" else 0
        if payload:
            parts.append(TaskPart("bytes", payload, 1))
        return Anatomy(live, min(live, 500), parts=tuple(parts))

    def _begin_burst(self, tasks: int, chunks: int, reading: bool) -> None:
        """Start a burst whose tasks run in ``chunks``, one after another; ``reading``: it reports memory."""
        creating = tasks / self.costs.create_rate
        total = creating + (_duration(self._workload) or 0.0) * chunks
        self._counts.created += tasks
        self._cohorts.append((self._now + total, tasks, _duration(self._workload) or 0.0))
        done = BurstDone(
            tasks=tasks,
            create_seconds=creating,
            create_cpu=creating,
            seconds=total,
            cpu=creating * 1.5,
            live=tasks if reading else None,
            traced=tasks * self.costs.traced if reading and self._trace else None,
        )
        self._burst = self._now + total, done

    def _halt(self, limit: str, value: int, detail: str) -> None:
        live = int(self._counts.live)
        self._out.append(Limit(live, self._target, limit, value, detail))
        self._target, self._left, self._growth = live, 0.0, None

    # Time.

    def _advance(self, now: float) -> None:
        seconds, self._now = max(0.0, now - self._now), now
        if self._ended or now < self._silent_until:
            return
        counts = self._counts
        while self._cohorts and self._cohorts[0][0] <= now:
            _, tasks, took = self._cohorts.popleft()
            counts.completed += tasks
            self._durations.append(took)
        self._end_some(seconds)
        if self._burst is not None:
            end, done = self._burst
            self._most_live = max(self._most_live, counts.live)
            if now >= end:
                self._out.append(done)
                self._burst = None
            return
        self._grow(min(self.costs.create_rate * seconds, max(0.0, self._target - counts.live)))
        self._cancel(min(self.costs.cancel_rate * seconds, max(0.0, counts.live - self._target)))
        self._most_live = max(self._most_live, counts.live)
        self._report_reached()

    def _end_some(self, seconds: float) -> None:
        """End tasks of the workload ``churn``, and report durations in the next tick."""
        if self._workload.word == "churn" and self._target:
            mean = self._target / _numbers(self._workload)[0]
            self._ending += self._counts.live * (1 - exp(-seconds / mean))
            ended = float(int(self._ending))
            self._ending -= ended
            self._counts.completed += ended
            self._durations += [mean * part for part in (0.3, 0.7, 1.2)] if ended else []

    def _cancel(self, excess: float) -> None:
        left = float(int(excess))
        self._counts.cancelled += left
        while left and self._cohorts:  # the newest first
            when, tasks, seconds = self._cohorts.pop()
            if tasks > left:
                self._cohorts.append((when, tasks - left, seconds))
            left = max(0.0, left - tasks)

    def _grow(self, wanted: float) -> None:
        wanted = float(int(wanted if self._refill else min(wanted, self._left)))
        most = self.costs.most
        if most is not None and wanted > most - self._counts.live:
            wanted = max(0.0, float(int(most - self._counts.live)))
            self._counts.created += wanted
            self._halt(self.costs.limit, 65_530, "can't start new thread")
        else:
            self._counts.created += wanted
        self._left = max(0.0, self._left - wanted)
        if self.costs.refused is not None:
            refused = min(wanted, max(0.0, self._counts.live - self.costs.refused))
            self._counts.failed += refused
            wanted -= refused
        seconds = _duration(self._workload)
        if not self._cohorts:
            self._served_until = self._now
        while wanted and seconds is not None:
            begun, takes = wanted, seconds
            if self.costs.served is not None:
                begun = min(wanted, self.costs.served)
                self._served_until = max(self._served_until, self._now) + begun * seconds / self.costs.served
                takes = max(seconds, self._served_until - self._now)
            self._cohorts.append((self._now + takes, begun, takes))
            wanted -= begun

    def _report_reached(self) -> None:
        if self._growth is None:
            return
        when, created, cancelled = self._growth
        counts = self._counts
        due = self._left <= 0 if counts.created > created or not self._refill else counts.live >= self._target
        if due and counts.live <= self._target:
            changes = int(counts.created - created), int(counts.cancelled - cancelled)
            self._out.append(Reached(self._target, int(counts.live), *changes, max(0.001, self._now - when)))
            self._growth = None

    def _apply_faults(self, now: float) -> None:
        while self._faults and now - (self._began or 0.0) >= self._faults[-1].after:
            fault = self._faults.pop()
            if fault.arrival is not None:
                self._out.append(fault.arrival)
                self._ended = self._ended or isinstance(fault.arrival, Ended)
            self._silent_until = max(self._silent_until, now + fault.silence if fault.silence else 0.0)

    def tick(self) -> Tick:
        """Return the next report, with the durations since the last one."""
        counts, costs = self._counts, self.costs
        created, completed, cancelled = int(counts.created), int(counts.completed), int(counts.cancelled)
        failed = int(counts.failed)
        live = created - completed - cancelled - failed
        durations, self._durations = tuple(self._durations), []
        return Tick(
            time=self._now,
            created=created,
            live=live,
            completed=completed,
            failed=failed,
            failures=(Failure(*REFUSED, failed),) if failed else None,
            cancelled=cancelled,
            queued=max(0, live - 6) if self.engine.name == "pool" else 0,
            lag=0.0004,
            gc=0.001 * (self._now - (self._began or 0.0)),
            traced=int(600_000 + live * costs.traced) if self._trace else None,
            tracer=int(400_000 + live * costs.tracer) if self._trace else None,
            heap=None if costs.heap is None else 300_000 + live * costs.heap,
            durations=durations,
        )


def _numbers(workload: Workload) -> list[float]:
    """Return the numbers in the workload."""
    return [float(value) for value in workload.values if isinstance(value, int | float)]


def _duration(workload: Workload) -> float | None:
    """Return the seconds a task takes; None if it does not end by itself."""
    values = _numbers(workload)
    match workload.word:
        case "sleep" | "spin" | "http":
            return values[0]
        case "ticks":
            return values[0] * values[1]
        case "nop":
            return 0.0
    return None


@dataclass
class FakeWorkers:
    """Opens fake links, and stores them by engine."""

    costs: dict[str, Costs] = field(default_factory=dict)
    faults: dict[str, Sequence[Fault]] = field(default_factory=dict)
    answers: dict[str, Answers] = field(default_factory=dict)
    links: dict[str, FakeLink] = field(default_factory=dict)
    """The link opened last for each engine."""

    def __call__(self, engine: Engine) -> Link:
        """Open a link for ``engine``."""
        name = engine.name
        link = FakeLink(engine, self.costs.get(name), self.faults.get(name, ()), self.answers.get(name))
        self.links[engine.name] = link
        return link
