"""The counting for one monitor: ticks, scans in short time slices, groups, and the monitor's commands."""

from __future__ import annotations

import sys
from collections import deque
from time import monotonic, thread_time

from ..basics.guard import ERRORS, guarded
from ..blocking.blocks import BLOCKED_AFTER, Blocks
from ..blocking.busy import Busy
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.scan import LINKED, Scan, Tasks, add_running_loops
from ..counting.starts import STARTS
from ..counting.threads import find_thread_waits
from ..hooking.executors import EXECUTORS
from ..hooking.hooks import HOOKS
from ..memory.traced import Tracing
from ..waiting.cycles import CycleFinder
from ..waiting.waits import find_waits
from .connection import Lost
from .figures import Figures
from .process import flags, identity, name
from .report import ChangedGroups, tick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Collection, Deque, Dict, Iterator, List, Optional

    from ..blocking.profiler import Profiler
    from ..counting.counted_group import CountedGroup
    from ..waiting.lasting import LastingSearch
    from .connection import Connection

MIN_HZ, MAX_HZ = 0.1, 10.0

SHARE = 0.006
"""The share of the process's time that the agent uses: 1 % together with its wake-ups."""

REQUEST_SHARE = 0.1
"""The share of the process's time that the agent uses while it answers a request."""

MAX_REQUESTS = 10
"""The most pending requests about groups."""

MAX_PROFILE = 600.0
"""The most seconds for which stacks are sampled."""

FIRST_SLICE = 0.01
"""Seconds until the first slice of a scan, so that it is not done at once with the first report."""

URGENT_DELAY = 0.002
"""Seconds between two slices of a scan that keeps tasks alive."""

MAX_PAUSE = 0.015
"""Seconds of pause above which a scan is repeated only every `LONG_SCAN_INTERVAL`."""

LONG_SCAN_INTERVAL = 60.0

GOLDEN = 0.6180339887

JITTER = 0.3
"""The range of the time between two scans, as a share of its mean."""

CYCLES_INTERVAL, CYCLES_SHARE = 5.0, 0.002
"""Seconds between two searches for cycles, and the share of the time that they take."""

LASTING_AFTER = 1.0
"""Seconds after its start after which an agent looks for what lasts."""

COMMAND_INTERVAL = 0.1
"""Maximum seconds between two reads of commands."""

MAX_UNSENT = 1_000
"""The most reports of blocks that are kept for a slow monitor."""

LOOK_EARLY = 0.015
"""Seconds by which the loops may be checked early, if the thread is awake for something else."""

FOR_EVER = float("inf")

ANSWERS = "answers to commands"
"""What is missing if a command fails."""

FAILED_INTERVAL = 1.0
"""Seconds until the next step, or the next check of the loops, after one has failed."""

ERRORS_INTERVAL = 1.0
"""Least seconds between two reports of the agent's own errors."""


class AgentSession:
    """Counts for one monitor, over one connection or, if the program closes it, several in turn.

    Args:
        options: the commands that are in effect from the beginning: ``"outcomes"``, ``"timing"``,
            ``"by_name"``, ``"trace"``, ``"blocked-after:SECONDS"`` (``inf``: what blocks
            the loops is not looked for).
    """

    def __init__(self, options: Collection[str] = ()) -> None:
        COUNTS.clear()
        EXECUTORS.clear()
        self._started = monotonic()
        add_running_loops()
        COUNTS.scanned = True
        if GEVENT in sys.modules:
            from ..hooking.greenlets import GREENLETS  # few programs need it

            GREENLETS.find_existing()
        existing = Tasks()
        HOOKS.outcomes = COUNTS.outcomes = "outcomes" in options
        COUNTS.timing, COUNTS.by_name = "timing" in options, "by_name" in options
        HOOKS.install()
        self._unsent: Deque[Dict[str, Any]] = deque(maxlen=MAX_UNSENT)
        """Reports of blocks that have not been sent yet."""
        self._blocks = Blocks(lambda: self._figures.collector.seconds, self._unsent.append, _after(options))
        self._figures, self._tracing = Figures(self._blocks.loops), Tracing()
        self._busy = Busy()
        self._growing: Optional[Iterator[float]] = None
        """The current search for what grows."""
        self._growing_due = 0.0
        self._profiler: Optional[Profiler] = None
        if "trace" in options:
            self._tracing.set(True)
        self._figures.collector.install()
        self._scan = Scan()
        self._slices: Optional[Iterator[None]] = self._reporting(self._scan.count_existing(existing))
        self._cycles = CycleFinder(lambda report: self._connection.send("cycle", **report))
        self._lasting: Optional[LastingSearch] = None
        """Looks for what lasts, once the process has."""
        self._lasting_due = monotonic() + LASTING_AFTER
        self._look: Optional[Iterator[None]] = None
        """The current search for cycles."""
        self._looks_next = False
        self._look_due, self._look_took = monotonic() + CYCLES_INTERVAL, 0.0
        self._answers_next = False
        self._requests: List[Iterator[None]] = []
        self._interval = 1 / MAX_HZ
        self._number = 0
        self._blocks_due = monotonic() if self._blocks.looks else FOR_EVER
        self._due = self._commands_due = self._tick_due = self._scan_due = self._slice_due = monotonic()
        self._errors_due = 0.0
        self._tick_cost = 0.0
        self._jitter = 0.0
        self._pause_reported = False
        self._commands: Dict[str, Callable[[Dict[str, Any]], Optional[bool]]] = {
            "rate": self._set_rate,
            "waits": self._request_waits,
            "finished": self._request_finished,
            "thread_waits": self._send_thread_waits,
            "outcomes": lambda fields: HOOKS.set_outcomes(_flag(fields, "on")),
            "timing": self._set_timing,
            "by_name": self._set_by_name,
            "blocked_after": self._set_blocked_after,
            "trace": lambda fields: self._tracing.set(_flag(fields, "on")),
            "lines": self._send_lines,
            "objects": self._request_objects,
            "profile": self._profile,
            "memory": self._request_memory,
            "detach": self._detach,
        }

    def report_to(self, connection: Connection) -> None:
        """Send ``ready``, and report over ``connection`` from now on."""
        self._connection = connection
        self._groups = ChangedGroups()
        self._reported = {"name": name(), "flags": self._flags()}
        if self._lasting is not None:
            self._lasting.signal.install(connection.descriptor)
        self._tick_due = monotonic()
        self._slice_due = self._tick_due + FIRST_SLICE
        connection.send(
            "ready",
            **identity(),
            **self._reported,
            started=self._started,
            can=list(self._commands),
            workloads=[],
        )
        connection.send("agent_errors", **ERRORS.report())
        connection.flush()

    def _flags(self) -> List[str]:
        on = {"blocks": self._blocks.looks, "timing": COUNTS.timing}
        return [*flags(), *[name for name in on if on[name]]]

    def step(self, due: float) -> float:
        """Do what is due, and return the seconds until the next step; raises only `Lost`.

        Args:
            due: when this step was due.
        """
        delay = self._step(due)
        if delay is None:  # it has failed
            self._send_errors(monotonic())
            self._connection.flush()
            return FAILED_INTERVAL
        return delay

    @guarded("", passes=(Lost,))
    def _step(self, due: float) -> float:
        if self._profiler is not None:
            self._profiler.resume()
        sample_in = self._sample_stacks() if self._profiler is not None else FOR_EVER
        now = monotonic()
        if now >= self._blocks_due - LOOK_EARLY:
            self._blocks_due = self._check_loops(now, max(due, self._blocks_due)) or now + FAILED_INTERVAL
        if now >= self._due or self._unsent:
            self._due = monotonic() + self._count_and_report()
        if self._profiler is not None:
            self._profiler.wait()
        return max(0.0005, min(self._due, self._blocks_due, now + sample_in) - monotonic())

    @guarded("blocked event loops")
    def _check_loops(self, now: float, due: float) -> float:
        return self._blocks.step(now, due)

    def _count_and_report(self) -> float:
        """Handle commands, scan, and send what is due; return the seconds until the next time.

        Each call of the system lets the interpreter's lock go, and interrupts a busy program to get it back:
        so commands are read once a tick, and all reports are sent at once.
        """
        if monotonic() >= self._commands_due:
            self._commands_due = monotonic() + min(COMMAND_INTERVAL, self._interval)
            self._handle_commands()  # not timed as scans: they may take a snapshot of all traced memory
        if self._growing is not None and monotonic() >= self._growing_due:
            self._find_what_grows(self._growing)
        began, now = thread_time(), monotonic()
        if now >= self._slice_due or self._urgent:
            self._run_slice(now)
        self._send_blocks()
        if not self._connection.behind:
            self._look_for_what_lasts(now)
        if now >= self._tick_due:
            self._tick_due = now + self._interval
            if not self._connection.behind:
                self._send_tick(now)
        self._send_errors(now)
        self._connection.flush()
        # The next slice is due when the time used so far is the agent's share.
        share = REQUEST_SHARE if self._requests else SHARE
        self._slice_due = max(self._slice_due, monotonic()) + (thread_time() - began) / share
        due = self._tick_due
        if self._urgent:
            due = monotonic() + URGENT_DELAY
        elif self._slices is not None or self._requests:
            due = min(due, self._slice_due)
        else:
            due = min(due, max(self._scan_due, self._slice_due))
        if self._growing is not None:
            due = min(due, self._growing_due)
        return min(COMMAND_INTERVAL, due - monotonic())

    @property
    def _urgent(self) -> bool:
        return self._slices is not None and self._scan.urgent

    @guarded("live tasks", passes=(Lost,))
    def _run_slice(self, now: float) -> None:
        """Run one time slice, alternately of the first pending request and of a scan."""
        scans = self._slices is not None or now >= self._scan_due
        self._answers_next = bool(self._requests) and not (self._answers_next and scans)
        if self._answers_next:
            request = self._requests.pop(0)
            try:
                if not _is_exhausted(request):
                    self._requests.insert(0, request)
            except Lost:
                raise
            except Exception as error:  # the next one is still answered
                self._send_failure(None, error)
            return
        self._looks_next = not self._looks_next and now >= self._look_due
        if self._looks_next:  # alternately with scans
            self._look_for_cycles(now)
            return
        if self._slices is None and now >= self._scan_due:
            HOOKS.replace_imported()
            # Not in step with a periodic program: the golden ratio spreads the times evenly.
            self._jitter = (self._jitter + GOLDEN) % 1
            self._scan_due = now + self._interval * (1 - JITTER / 2 + JITTER * self._jitter)
            self._slices = self._reporting(self._scan.run())
        if self._slices is not None and _is_exhausted(self._slices):
            self._slices = None
            if LINKED and self._scan.pause > MAX_PAUSE:
                self._scan_due = now + LONG_SCAN_INTERVAL
                self._report_pause()

    def _reporting(self, scan: Iterator[None]) -> Iterator[None]:
        """Scan, then report the groups that have changed. A generator: one time slice per step."""
        yield from scan
        if not self._connection.behind:
            yield
            yield from self._groups.send(self._connection, monotonic(), self._scan, HOOKS.outcomes)

    @guarded("deadlocks and shutdowns", passes=(Lost,))
    def _look_for_what_lasts(self, now: float) -> None:
        if now < self._lasting_due:
            return
        if self._lasting is None:
            from ..waiting.lasting import LastingSearch  # short programs do not need it

            self._lasting = LastingSearch(lambda report: self._connection.send("lasting", **report))
            self._lasting.signal.install(self._connection.descriptor)
        self._lasting.step(now)

    @guarded("cycles of tasks", passes=(Lost,))
    def _look_for_cycles(self, now: float) -> None:
        began = thread_time()
        self._look = self._look or self._cycles.look()
        ended = _is_exhausted(self._look)
        self._look_took += thread_time() - began
        if ended:
            self._look_due = now + max(CYCLES_INTERVAL, self._look_took / CYCLES_SHARE)
            self._look, self._look_took = None, 0.0

    def _report_pause(self) -> None:
        if not self._pause_reported:
            self._pause_reported = True
            self._send_error(
                None,
                "tasks are counted only once a minute: this Python lists all of them at once, "
                f"which stops the program for {self._scan.pause * 1000:.0f} ms",
            )

    def _send_error(self, command: Optional[str], message: str) -> None:
        self._connection.send("error", command=command, message=message, detail=None)

    def _send_failure(self, command: Optional[str], error: Exception) -> None:
        """Report why there is no answer to a command: it was refused, or the agent has failed."""
        if isinstance(error, ValueError):
            self._send_error(command, " ".join(str(error).split())[:1000])
            return
        ERRORS.add(ANSWERS)
        if command is not None:  # the text of the exception may have values of the program
            self._send_error(command, f"the agent has failed: {type(error).__name__}")

    def _send_errors(self, now: float) -> None:
        """Report the errors of the agent itself, if there are new ones and the last report is old enough."""
        if ERRORS.changed and now >= self._errors_due:
            self._errors_due = now + ERRORS_INTERVAL
            self._connection.send("agent_errors", **ERRORS.report())

    @guarded("", passes=(Lost,))
    def _send_tick(self, now: float) -> None:
        began = thread_time()
        self._number += 1
        fields = tick(self._number, self._scan, self._figures, HOOKS.outcomes)
        fields["agent_cpu"] = round(thread_time(), 6)
        if COUNTS.timing:
            self._busy.step(now)
        fields.update(self._busy.read())
        current: Dict[str, Any] = {"name": name(), "flags": self._flags()}
        if self._lasting is not None:
            current["stack_signal"] = self._lasting.signal.number
        fields.update({key: value for key, value in current.items() if self._reported.get(key) != value})
        self._reported = current
        self._connection.send("tick", **fields)
        self._tick_cost = 0.8 * self._tick_cost + 0.2 * (thread_time() - began)
        # Missed ticks are not made up for, and a process with thousands of threads and groups sends fewer.
        self._tick_due = now + max(self._interval, self._tick_cost / (SHARE / 2))

    def _send_blocks(self) -> None:
        while self._unsent and not self._connection.behind:
            self._connection.send("block", **self._unsent.popleft())

    @guarded(ANSWERS, passes=(Lost,))
    def _handle_commands(self) -> None:
        """Execute and answer the commands received since the last step."""
        for fields, problem in self._connection.commands():
            arrived = monotonic()
            command = None if fields is None else fields["type"][:60]
            try:
                if fields is None:
                    raise ValueError(problem)
                execute = self._commands.get(fields["type"])
                if execute is None:
                    expected = ", ".join(self._commands)
                    raise ValueError(f'unknown command "{command}"; expected one of {expected}')
                if not execute(fields):
                    seconds = monotonic() - arrived
                    self._connection.send("applied", command=command, seconds=seconds, flags=self._flags())
            except Lost:
                raise
            except Exception as error:  # report whatever is wrong with a command to the monitor
                self._send_failure(command, error)

    # Each command returns whether its own report answers it.

    def _set_timing(self, fields: Dict[str, Any]) -> None:
        COUNTS.set_timing(_flag(fields, "on"))
        if not COUNTS.timing:
            self._busy.close()

    def _set_by_name(self, fields: Dict[str, Any]) -> None:
        COUNTS.by_name = _flag(fields, "on")

    def _set_blocked_after(self, fields: Dict[str, Any]) -> None:
        seconds = fields.get("seconds", 0)
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
        ):
            raise ValueError(f'"seconds" is {seconds!r}; expected more than 0, or null for never')
        self._blocks.set_after(FOR_EVER if seconds is None else seconds)
        self._blocks_due = monotonic() if self._blocks.looks else FOR_EVER

    def _set_rate(self, fields: Dict[str, Any]) -> None:
        hz = fields.get("hz")
        if isinstance(hz, bool) or not isinstance(hz, (int, float)) or not MIN_HZ <= hz <= MAX_HZ:
            raise ValueError(f'"hz" is {hz!r}; expected ticks a second from {MIN_HZ} to {MAX_HZ:.0f}')
        self._interval = 1 / hz
        self._tick_due = self._scan_due = monotonic()

    def _request_waits(self, fields: Dict[str, Any]) -> bool:
        group = _group(fields)
        self._add_request(find_waits(group, lambda report: self._connection.send("waits", **report)))
        return True

    def _request_finished(self, fields: Dict[str, Any]) -> bool:
        from ..memory.finished import find_finished  # few programs need it
        from ..memory.objects import check_search

        check_search()
        group = _group(fields)
        self._add_request(find_finished(group, lambda report: self._connection.send("finished", **report)))
        return True

    def _add_request(self, request: Iterator[None]) -> None:
        if len(self._requests) >= MAX_REQUESTS:
            raise ValueError(f"{MAX_REQUESTS} requests are already pending")
        self._requests.append(request)

    def _send_thread_waits(self, fields: Dict[str, Any]) -> bool:
        self._connection.send(
            "thread_waits", **find_thread_waits(str(fields.get("name")), bool(fields.get("pool")))
        )
        return True

    def _send_lines(self, fields: Dict[str, Any]) -> bool:
        self._connection.send("lines", lines=self._tracing.lines())
        return True

    def _request_objects(self, fields: Dict[str, Any]) -> bool:
        from ..memory.objects import check_search, find_what_grows  # few programs need them

        check_search()
        if self._growing is None:
            self._growing = find_what_grows(lambda report: self._connection.send("objects", **report))
            self._growing_due = 0.0
        return True

    def _request_memory(self, fields: Dict[str, Any]) -> bool:
        from ..memory.memory import find_memory  # few programs need it

        longest = fields.get("longest")
        limit = (longest,) if isinstance(longest, (int, float)) else ()
        self._add_request(find_memory(lambda report: self._connection.send("memory", **report), *limit))
        return True

    def _find_what_grows(self, growing: Iterator[float]) -> None:
        """Do the next step of the search for what grows, unless it is done."""
        delay = None
        try:
            delay = next(growing, None)
        except Lost:
            raise
        except Exception as error:
            self._send_failure("objects", error)
        self._growing_due = monotonic() + (delay or 0.0)
        self._growing = None if delay is None else growing

    def _profile(self, fields: Dict[str, Any]) -> bool:
        from ..blocking.profiler import Profiler  # few programs need it

        seconds = fields.get("seconds")
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, (int, float))
            or not 0 <= seconds <= MAX_PROFILE
        ):
            raise ValueError(f'"seconds" is {seconds!r}; expected a number from 0 to {MAX_PROFILE:.0f}')
        if self._profiler is not None and seconds:
            raise ValueError("stacks are being sampled already; ask again once the profile has been sent")
        if self._profiler is not None:
            self._profiler.end()
        elif seconds:
            self._profiler = Profiler(
                seconds, lambda report: self._connection.send("profile", **report), self._blocks.loop_frames
            )
        return True

    def _sample_stacks(self) -> float:
        """Take a sample of the stacks if one is due; return the seconds until the next one."""
        assert self._profiler is not None
        try:
            delay = self._profiler.step(monotonic())
        except Exception as error:
            delay = None
            self._send_failure("profile", error)
        if delay is None:
            self._profiler.close()
            self._profiler = None
            return 0.0
        return delay

    def _detach(self, fields: Dict[str, Any]) -> bool:
        raise Lost

    def finish(self, timeout: float) -> None:
        """Send the last figures when the process exits, within ``timeout`` seconds."""
        connection = self._connection
        connection.timeout = timeout
        deadline = monotonic() + timeout
        for slices in (self._slices, self._scan.run(), self._scan.run()):  # two: see `CountedGroup.uncounted`
            self._finish_scan(slices or iter(()), deadline)
        self._finish_blocks()
        self._send_blocks()
        self._send_last_tick()
        self._send_last_groups()
        if ERRORS.changed:
            connection.send("agent_errors", **ERRORS.report())
        connection.send("end")
        connection.flush()

    @guarded("live tasks")
    def _finish_scan(self, slices: Iterator[None], deadline: float) -> None:
        for _ in slices:
            if monotonic() > deadline:
                break

    @guarded("blocked event loops", passes=(Lost,))
    def _finish_blocks(self) -> None:
        self._blocks.finish()
        if self._lasting is not None:
            self._lasting.finish()

    @guarded("the end of the process", passes=(Lost,))
    def _send_last_tick(self) -> None:
        last = tick(self._number + 1, self._scan, self._figures, HOOKS.outcomes)
        self._connection.send("tick", **last, **self._busy.read())

    @guarded("the end of the process", passes=(Lost,))
    def _send_last_groups(self) -> None:
        sent = self._groups.send(self._connection, monotonic(), self._scan, HOOKS.outcomes, last=True)
        for _ in sent:
            pass

    def close(self) -> None:
        """Remove all hooks and stop tracing."""
        parts: List[Callable[[], object]] = [HOOKS.remove, self._busy.close, STARTS.remove]
        parts += [self._figures.collector.remove, self._blocks.stop, lambda: self._tracing.set(False)]
        if self._lasting is not None:
            parts.append(self._lasting.signal.remove)
        if self._profiler is not None:
            parts.append(self._profiler.close)
        for part in parts:
            _close(part)
        self._growing = None
        COUNTS.clear()
        ERRORS.clear()


@guarded("")
def _close(part: Callable[[], object]) -> None:
    part()


def _is_exhausted(slices: Iterator[None]) -> bool:
    """Run one time slice; return whether it was the last."""
    for _ in slices:
        return False
    return True


def _after(options: Collection[str]) -> float:
    """Return the seconds after which a loop counts as blocked."""
    for option in options:
        name, _, value = option.partition(":")
        if name == "blocked-after":
            return float(value)
    return BLOCKED_AFTER


def _group(fields: Dict[str, Any]) -> CountedGroup:
    number = fields.get("group")
    group = next((one for one in list(COUNTS.groups.values()) if one.number == number), None)
    if group is None:
        raise ValueError(f'"group" is {number!r}; expected the number of a group that was reported')
    return group


def _flag(fields: Dict[str, Any], key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ValueError(f'"{key}" is {value!r}; expected true or false')
    return value
