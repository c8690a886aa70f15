"""Find what blocks event loops, by their heartbeats and the stack of a loop's thread while one is overdue."""

from __future__ import annotations

import sys
from time import monotonic, process_time, thread_time

from ..basics.part import FOR_EVER, Part
from ..basics.primitives import get_ident
from ..counting.counting import COUNTS
from .heartbeat import OVERDUE, TIMERS, TRIO, TimerHeartbeat
from .stacks import longest_run, loop_depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    from .heartbeat import Delay, Heartbeat
    from .stacks import Run

BLOCKED_AFTER = 0.1
"""Seconds after which a loop counts as blocked, unless another time is asked for."""

BEATS, LOOKS = 0.3, 1 / 3
"""Seconds between two heartbeats, and between two checks of them, as shares of `BLOCKED_AFTER`."""

MAX_INTERVAL = 0.1
"""Maximum seconds between two heartbeats, and between two checks of them."""

SAMPLE_INTERVAL = 0.02
"""Seconds between two samples of the stack of a loop that is overdue."""

SAMPLE_PRECISION, LONGEST_INTERVAL = 0.05, 0.5
"""The same interval as a share of the time for which the loop has been overdue, and its maximum."""

SAMPLE_SHARE = 0.01
"""The share of the time that samples may take: with thousands of threads, each takes milliseconds."""

PROGRESS_INTERVAL = 1.0
"""Seconds between two reports of a block that has not ended."""

LOOPS_INTERVAL = 0.1
"""Seconds between two searches for running loops."""

MAX_LOOPS = 20

FAILED_INTERVAL = 1.0
"""Seconds until the next check of the loops after one has failed."""

LATE = 0.004
"""Seconds of delay above which this thread must have waited for the interpreter's lock."""

MAX_LATE = 200
"""The most delays of this thread that are remembered."""

WAITING_CPU = 0.2
"""A thread whose CPU time is below this share of the time is waiting for something."""

WANTS_CPU = 0.8
"""A thread that runs, or waits for a processor, for more than this share of the time does nothing else."""

MOST = 0.8
"""A task that takes more than this share of a delay is its only cause."""

HOLDER_CPU = 0.8
"""A thread that uses more than this share of the CPU time of its process holds the interpreter's lock."""

WAITING_SLICES = 0.1
"""The least number of times per switch interval that a thread runs that waits for the interpreter's lock."""


class Blocks(Part):
    """Reports what blocks the event loops of this process, and measures their lag.

    Args:
        collecting: returns the seconds spent in garbage collection so far.
        send: called with the fields of each report.
        after: the seconds after which a loop counts as blocked; if infinite, only the lag is measured.
    """

    def __init__(
        self,
        collecting: Callable[[], float],
        send: Callable[[Dict[str, Any]], None],
        after: float = BLOCKED_AFTER,
    ) -> None:
        self._collecting, self._send = collecting, send
        self._beats: Dict[int, Heartbeat] = {}
        """By ``id`` of the loop."""
        self._found = self._blocks = 0
        self._sample_due = 0.0
        self.set_after(after)
        self._used, self._own = process_time(), 0.0
        self._late: List[Tuple[float, float, float]] = []
        """The delays of this thread: when each began and ended, and the seconds of it without CPU time."""

    def set_after(self, after: float) -> None:
        """Change the seconds after which a loop counts as blocked."""
        self.looks, self.after = after < FOR_EVER, after
        self.due = monotonic() if self.looks else FOR_EVER
        for key, beat in list(self._beats.items()):
            if key in TRIO:
                beat.after = after
            else:  # the next search adds a new one
                self._remove(key)
        self._loops_due = 0.0

    def loops(self) -> List[Dict[str, Any]]:
        """Return the ``loops`` of a tick, those with the highest lag first."""
        now = monotonic()
        if not self.looks:
            self._find_loops(now)
        found: List[Dict[str, Any]] = [
            {"name": beat.name, "kind": beat.kind, "lag": round(beat.lag(now), 6)}
            for beat in self._beats.values()
        ]
        found.sort(key=lambda one: one["lag"], reverse=True)
        return found[:MAX_LOOPS]

    def loop_frames(self) -> Dict[int, int]:
        """Return, by thread, how many of its outermost frames are those of its event loop."""
        return {beat.thread: beat.depth for beat in self._beats.values()}

    def step(self, now: float, awake: float = 0.0) -> None:
        """Sample the loops that are overdue, and report what has blocked them.

        Args:
            now: the current time.
            awake: when this thread should have been awake, if that is later than when this step was due.
        """
        due, self.due = max(awake, self.due), now + FAILED_INTERVAL
        # Code that holds the interpreter's lock keeps this thread from running. It is still on the stack when
        # it releases the lock, until a system call here releases it again: so take the samples first.
        own = thread_time()
        late = max(0.0, now - due - (own - self._own))  # without the work of this thread itself
        overdue = [beat for beat in self._beats.values() if beat.overdue(now) >= OVERDUE]
        # For a long block, fewer samples are enough.
        shortest = min([beat.overdue(now) for beat in overdue], default=0.0)
        interval = min(LONGEST_INTERVAL, max(SAMPLE_INTERVAL, SAMPLE_PRECISION * shortest))
        if overdue and now >= self._sample_due:
            _sample(overdue, {beat.thread for beat in self._beats.values()}, now, late)
            self._sample_due = now + (thread_time() - own) / SAMPLE_SHARE
        self._note_lateness(now, late)
        for beat in self._beats.values():
            self._report(beat, now)
        if now >= self._loops_due:
            self._loops_due = now + LOOPS_INTERVAL
            self._find_loops(now)
        self._own = thread_time()
        self.due = now + (interval if overdue else min(MAX_INTERVAL, LOOKS * self.after))

    def _note_lateness(self, now: float, late: float) -> None:
        used = process_time()
        if late > LATE:
            self._late = [*self._late[-MAX_LATE:], (now - late, now, max(0.0, late - (used - self._used)))]
        self._used = used

    def _find_loops(self, now: float) -> None:
        running = {id(loop): loop for loop in COUNTS.loops.running()}
        for key in set(self._beats) - set(TRIO):
            beat = self._beats[key]
            measured = isinstance(beat, TimerHeartbeat) and key in running and beat.measures(running[key])
            if not measured:
                self._remove(key)
        for key in set(running) - set(self._beats):
            interval = min(MAX_INTERVAL, BEATS * self.after)
            timer = TimerHeartbeat(
                self._next_name(), COUNTS.loops.known[key], interval, self._collecting, self.after
            )
            self._beats[key] = TIMERS[key] = timer
            timer.start()
        for key, trio in list(TRIO.items()):
            if key not in self._beats:
                trio.name, trio.collecting, trio.after = self._next_name(), self._collecting, self.after
                self._beats[key] = trio

    def _next_name(self) -> str:
        self._found += 1
        return f"loop {self._found}"

    def _remove(self, key: int) -> None:
        """Stop the heartbeat of a loop that does not run any more, and report what it has measured."""
        beat = self._beats.pop(key)
        _forget(key, beat)
        beat.stop()
        self._report(beat, monotonic())

    def finish(self, deadline: float) -> None:
        """Report what blocks the loops, because the process exits."""
        now = monotonic()
        for beat in self._beats.values():
            if beat.overdue(now) > 0:
                beat.delays.append(beat.delay(now))
                beat.stop()
            self._report(beat, now)

    def close(self) -> None:
        """Stop all heartbeats."""
        for key, beat in self._beats.items():
            beat.stop()
            _forget(key, beat)

    def _report(self, beat: Heartbeat, now: float) -> None:
        """Report the blocks of a loop that have ended, and one that has not."""
        began = beat.began  # read first: the loop's thread changes it after it has added a delay
        while beat.delays:
            report = self._judge(beat, beat.delays.pop(0), True)
            self._send_report(beat, report or (beat.report and {**beat.report, "ended": True}))
        beat.samples = [sample for sample in beat.samples if sample.time >= began]
        if beat.overdue(now) > 0:
            if now - max(began, beat.reported) >= PROGRESS_INTERVAL:
                beat.reported = now
                self._send_report(beat, self._judge(beat, beat.delay(now), False))
        elif beat.report is not None and not beat.delays:  # nothing has measured its end
            self._send_report(beat, {**beat.report, "ended": True})

    def _send_report(self, beat: Heartbeat, report: Optional[Dict[str, Any]]) -> None:
        if report is not None:
            self._send(report)
            beat.report = None if report["ended"] else report

    def _judge(self, beat: Heartbeat, delay: Delay, ended: bool) -> Optional[Dict[str, Any]]:
        """Return the report of a loop's delay; None if it is not a block.

        Args:
            beat: the loop's heartbeat.
            delay: the delay.
            ended: whether it has ended.
        """
        began, end = delay.began, delay.ended
        if end - began < self.after:
            return None
        usage = beat.usage()
        samples = [sample for sample in beat.samples if began <= sample.time <= end]
        run = longest_run(samples, began, end, usage)
        seconds = end - began
        cause = "gc" if delay.collected > seconds / 2 else self._cause(run, delay)
        sample = None
        if cause == "code":
            if run is None or run.seconds < self.after:
                return None  # many short callbacks, or the loop's own code
            began, seconds, sample = run.began, run.seconds, run.typical()
            exact = sample.late <= seconds / 2
            holds = ended and delay.used > HOLDER_CPU * delay.process and bool(sample.own)
            if self._waited_for_lock(run) if exact else not holds:
                return None
        if beat.report is None:
            self._blocks += 1
        report: Dict[str, Any] = {
            "block": self._blocks if beat.report is None else beat.report["block"],
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
                group=sample.group or None,
            )
        return report

    def _cause(self, run: Optional[Run], delay: Delay) -> str:
        """Return ``"stopped"`` if the process or the loop's thread did not run, else ``"code"``."""
        seconds = delay.ended - delay.began
        cpu, waited, _ = (run.used() if run is not None else None) or (0.0, 0.0, 0)
        lost = max(waited, self._late_within(delay.began, delay.ended)[1])
        # A thread that has run or waited for a processor since its first sample did nothing else before
        # either: then its CPU time counts.
        runs = run is not None and cpu + waited > WANTS_CPU * (run.ended - run.samples[0].time)
        starved = runs and waited > cpu and delay.used < self.after
        if not (starved or (lost > seconds / 2 and seconds - lost < self.after)):
            return "code"
        # It is "code" as well if the same task, or code that held the lock, got half of a block's CPU time.
        same = run is not None and (len(run.samples) > 1 or run.samples[0].late > seconds / 2)
        alone = run is not None and same and run.seconds > MOST * seconds
        return "code" if alone and delay.used >= self.after / 2 else "stopped"

    def _late_within(self, began: float, end: float) -> Tuple[float, float]:
        """Return the seconds of delay of this thread between two times, and those without CPU time."""
        late = lost = 0.0
        for since, to, without in self._late:
            part = max(0.0, min(end, to) - max(began, since))
            late += part
            lost += part * without / (to - since)
        return late, lost

    def _waited_for_lock(self, run: Run) -> bool:
        """Return whether the thread of a loop has waited for the interpreter's lock."""
        if self._late_within(run.began, run.ended)[0] < WAITING_CPU * run.seconds:
            return False  # the lock was free: this thread has got it whenever it wanted it
        used, seconds = run.used(), run.ended - run.samples[0].time
        if used is None or not run.typical().own:
            return True
        cpu, _, slices = used
        # It retries in each switch interval; a thread that waits for something else does not run at all.
        return cpu < WAITING_CPU * seconds and slices > WAITING_SLICES * seconds / sys.getswitchinterval()


def _forget(key: int, beat: Heartbeat) -> None:
    """Remove a heartbeat from those of all loops, unless another search measures the loop now."""
    if TIMERS.get(key) is beat:
        del TIMERS[key]


def _sample(overdue: List[Heartbeat], known: Set[int], now: float, late: float) -> None:
    """Sample the stacks of the loops that are overdue; ``known`` are the threads of loops that are known.

    Keeps no reference to a frame, which would prolong the life of the program's objects.
    """
    frames = sys._current_frames()
    del frames[get_ident()]  # this frame refers to ``frames``, and would keep all of them alive
    for beat in overdue:
        if not beat.thread:  # it has been blocked ever since it was found
            others = [(thread, loop_depth(frames[thread])) for thread in set(frames) - known]
            found = [one for one in others if one[1]]
            if len(found) == 1:
                beat.thread, beat.depth = found[0]
        frame = frames.get(beat.thread)
        if frame is not None:
            beat.sample(frame, now, late)
    del frames, frame
    for beat in overdue:
        beat.add_usage()
