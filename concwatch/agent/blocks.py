"""What blocks event loops: a heartbeat in each loop, and the stack of its thread while one is overdue."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import monotonic, process_time, thread_time

from .counting import COUNTS
from .heartbeat import PROGRESS_INTERVAL, Heartbeat
from .stacks import longest_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    from .stacks import Run, StackSample, Usage

LOOK_INTERVAL = 0.03
"""Seconds between two looks at a loop: when a block began is known to within half of it."""

IDLE_INTERVAL = 0.1
"""Seconds between two heartbeats of a loop that waits whenever it is looked at."""

SAMPLE_INTERVAL = 0.02
"""Seconds between two samples of the stack of a loop that is blocked."""

SAMPLE_SHARE = 0.01
"""The share of the time that samples may take: with thousands of threads each takes milliseconds."""

LOOPS_INTERVAL = 0.1
"""Seconds between two searches for running loops."""

CROWDED_AFTER = 3.0
"""Seconds in which this thread has to wait for the interpreter's lock in each step until it steps seldom."""

CROWDED, MAX_CROWDED = 30, 5.0
"""How many times as long as it has waited it then leaves the lock to others, and the most seconds."""

MAX_LOOPS = 20

LATE = 0.004
"""Seconds by which this thread runs late if it had to wait for the interpreter's lock."""

MAX_LATE = 200
"""Times at which this thread was late that are remembered."""

WAITING_CPU = 0.2
"""The share of the time below which the CPU time of a thread is that of one that waits for something."""

HOLDER_CPU = 0.8
"""The share of the CPU time of a process that a thread uses at least which holds the interpreter's lock."""

WAITING_SLICES = 0.1
"""How often a thread that waits for the interpreter's lock runs at least, in each switch interval (of 1)."""


class Blocks:
    """Reports what blocks the event loops of this process, and measures their lag.

    Args:
        collecting: returns the seconds spent in garbage collection so far.
        send: called with the fields of each report.
        after: the seconds after which a loop counts as blocked; None: only the lag is measured, by a
            heartbeat a tick, since looking takes up to 6 % of the requests that a busy service answers.
    """

    def __init__(
        self,
        collecting: Callable[[], float],
        send: Callable[[Dict[str, Any]], None],
        after: Optional[float] = None,
    ) -> None:
        self.looks, self.after = after is not None, float("inf") if after is None else after
        self._collecting, self._send = collecting, send
        self._beats: Dict[int, Heartbeat] = {}
        """By ``id`` of the loop."""
        self._found = self._blocks = 0
        self._loops_due = self._sample_due = 0.0
        self._crowded_since = monotonic()
        """Since when it had to wait in each step."""
        self._used, self._own, self._collected = process_time(), 0.0, 0.0
        self._process = 0.0
        """The CPU seconds of this process from the step before to this one."""
        self._late: List[Tuple[float, float, float]] = []
        """When this thread did not run though it should have: from, to, and the seconds without CPU time."""

    def loops(self) -> List[Dict[str, Any]]:
        """Return the ``loops`` of a tick, the latest first."""
        now = monotonic()
        found: List[Dict[str, Any]] = [
            {"name": beat.name, "kind": beat.kind, "lag": round(beat.lag(now), 6)}
            for beat in self._beats.values()
        ]
        found.sort(key=lambda one: one["lag"], reverse=True)
        if not self.looks:
            self._find_loops(now)
            for key, beat in self._beats.items():
                loop = self._loop(key)
                if loop is not None and not beat.pending:
                    beat.request(loop, now)
        return found[:MAX_LOOPS]

    def step(self, now: float, due: float) -> float:
        """Look at each loop, request heartbeats, and sample and report what blocks.

        Args:
            now: the current time.
            due: when this step was due.

        Returns:
            When the next one is due.
        """
        # Code that holds the interpreter's lock keeps this thread from running. It is still on the stack when
        # it lets go, until a system call here releases the lock: so the samples come first.
        own = thread_time()
        late = max(0.0, now - due - (own - self._own))  # not what this thread itself has done since
        held = late > SAMPLE_INTERVAL
        looked = now >= self._sample_due
        samples, running = self._look(now, late) if looked else ({}, set(self._beats))
        self._note_lateness(now, late)
        if now >= self._loops_due:
            self._loops_due = now + LOOPS_INTERVAL
            self._find_loops(now)
        interval = LOOK_INTERVAL if self._beats else LOOPS_INTERVAL
        for key, beat in list(self._beats.items()):
            loop, sample = self._loop(key), samples.get(key)
            if loop is None:
                continue
            if beat.pending:
                if sample is not None:
                    beat.add(sample)
                    interval = SAMPLE_INTERVAL
                if now >= beat.progress_due:
                    beat.progress_due = now + PROGRESS_INTERVAL
                    self._judge(beat, now, False)
                continue
            if not beat.judged:
                self._judge(beat, beat.called, True)
                beat.samples, beat.judged = [], True
            if key in running or held or now - beat.requested >= IDLE_INTERVAL:
                beat.collected = self._collected
                beat.request(loop, now - late if held else now)
                if sample is not None and key in running:
                    beat.process = self._process
                    beat.add(sample)
            else:
                beat.seen = now
        self._collected = self._collecting()
        if looked:
            self._sample_due = now + (thread_time() - own) / SAMPLE_SHARE
        self._own = thread_time()
        # Each call of the system lets the lock go: where others want it, a step waits for it again and again,
        # and keeps it from the loops meanwhile.
        ended = monotonic()
        waited = ended - now - (self._own - own)
        return max(now + interval, ended + self.pause(ended, waited))

    def pause(self, now: float, waited: float) -> float:
        """Return the seconds for which the lock is left to others after a step that has waited for it."""
        if waited < LATE:
            self._crowded_since = now
        return min(MAX_CROWDED, CROWDED * waited) if now - self._crowded_since > CROWDED_AFTER else 0.0

    def _look(self, now: float, late: float) -> Tuple[Dict[int, StackSample], Set[int]]:
        """Return samples of the loops that are late, and which loops run something, by their keys.

        No reference to a frame is left: it would delay the end of the program's objects.
        """
        frames: Dict[int, FrameType] = sys._current_frames()
        del frames[get_ident()]  # this one: it refers to ``frames``, and would keep all of them alive
        samples: Dict[int, StackSample] = {}
        running = set()
        for key, beat in self._beats.items():
            frame = frames.get(beat.thread)
            if beat.is_running(frame):
                running.add(key)
            overdue = beat.pending and now - beat.requested >= SAMPLE_INTERVAL
            if frame is not None and (overdue or (late > SAMPLE_INTERVAL and not beat.pending)):
                samples[key] = beat.sample(frame, self._loop(key), now, late)
        return samples, running

    def _note_lateness(self, now: float, late: float) -> None:
        used = process_time()
        self._process = used - self._used
        if late > LATE:
            self._late = [*self._late[-MAX_LATE:], (now - late, now, max(0.0, late - self._process))]
        self._used = used

    def _loop(self, key: int) -> Any:
        reference = COUNTS.loops.get(key)
        return None if reference is None else reference()

    def _find_loops(self, now: float) -> None:
        running = {id(loop): loop for loop in COUNTS.open_loops() if loop.is_running()}
        for key in set(self._beats) - set(running):
            del self._beats[key]
        for key, loop in running.items():
            if key not in self._beats:
                self._found += 1
                self._beats[key] = Heartbeat(self._found, loop, now)

    def _judge(self, beat: Heartbeat, end: float, ended: bool) -> None:
        """Report the block of a loop whose heartbeat was called, or is still overdue, at ``end``."""
        began = beat.began
        if end - began < self.after:
            return
        usage = beat.usage()
        run = longest_run(beat.samples, began, end, usage)
        cause, seconds = self._cause(beat, end, usage), end - began
        sample = None
        if cause == "code":
            if run is None or run.seconds < self.after:
                return  # many short callbacks, or the loop's own code
            began, seconds, sample = run.began, run.seconds, run.typical()
            exact = sample.late <= seconds / 2
            if self._waited_for_lock(run) if exact else not (ended and sample.own and _held_lock(beat)):
                return
        if beat.number is None:
            self._blocks += 1
            beat.number = self._blocks
        report: Dict[str, Any] = {
            "block": beat.number,
            "loop": beat.name,
            "time": began,
            "seconds": round(seconds, 4),
            "ended": ended,
            "cause": cause,
        }
        if sample is not None:
            report.update(
                exact=exact,
                stack=[{"in": function, "where": where} for function, where in sample.stack],
                own=sample.own,
                group=sample.group,
            )
        self._send(report)

    def _cause(self, beat: Heartbeat, end: float, usage: Optional[Usage]) -> str:
        """Return why a loop did not run.

        Returns:
            ``"gc"``: the process collected garbage; ``"stopped"``: it did not run, or not this
            thread; else ``"code"``.
        """
        seconds = end - beat.began
        if self._collecting() - beat.collected > seconds / 2:
            return "gc"
        first = beat.samples[0].usage if beat.samples else None
        waited = usage[1] - first[1] if first is not None and usage is not None else 0.0
        lost = max(waited, self._late_within(beat.began, end)[1])
        return "stopped" if lost > seconds / 2 and seconds - lost < self.after else "code"

    def _late_within(self, began: float, end: float) -> Tuple[float, float]:
        """Return the seconds that this thread was late between two times, and those without CPU time."""
        late = lost = 0.0
        for since, to, without in self._late:
            part = max(0.0, min(end, to) - max(began, since))
            late += part
            lost += part * without / (to - since)
        return late, lost

    def _waited_for_lock(self, run: Run) -> bool:
        """Return whether the thread of a loop has waited for the lock that other threads held."""
        if self._late_within(run.began, run.ended)[0] < WAITING_CPU * run.seconds:
            return False  # this thread gets the lock whenever it wants it
        used, seconds = run.used(), run.ended - run.samples[0].time
        if used is None or not run.typical().own:
            return True
        cpu, _, slices = used
        # It tries again in each switch interval; one that waits for something else does not run at all.
        return cpu < WAITING_CPU * seconds and slices > WAITING_SLICES * seconds / sys.getswitchinterval()


def _held_lock(beat: Heartbeat) -> bool:
    """Return whether it was the thread of this loop that held the lock for long."""
    return beat.used > HOLDER_CPU * beat.process
