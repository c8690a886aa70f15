"""What blocks event loops: their heartbeats, and the stack of a loop's thread while one is overdue."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import monotonic, process_time, thread_time

from .counting import COUNTS
from .heartbeat import OVERDUE, TRIO, TimerHeartbeat
from .stacks import longest_run, loop_depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    from .heartbeat import Delay, Heartbeat
    from .stacks import Run

BLOCKED_AFTER = 0.1
"""Seconds after which a loop counts as blocked, unless another time is asked for."""

BEATS, LOOKS = 0.3, 1 / 3
"""Seconds between two heartbeats, and between two looks at them, for each second that counts as a block."""

MAX_INTERVAL = 0.1
"""Maximum seconds between two heartbeats, and between two looks at them."""

SAMPLE_INTERVAL = 0.02
"""Seconds between two samples of the stack of a loop that is overdue."""

SAMPLE_PRECISION, LONGEST_INTERVAL = 0.05, 0.5
"""The same as a share of the time for which it has been overdue, and at most."""

SAMPLE_SHARE = 0.01
"""The share of the time that samples may take: with thousands of threads each takes milliseconds."""

PROGRESS_INTERVAL = 1.0
"""Seconds between two reports of a block that goes on."""

LOOPS_INTERVAL = 0.1
"""Seconds between two searches for running loops."""

MAX_LOOPS = 20

FOR_EVER = float("inf")

LATE = 0.004
"""Seconds by which this thread runs late if it had to wait for the interpreter's lock."""

MAX_LATE = 200
"""Times at which this thread was late that are remembered."""

WAITING_CPU = 0.2
"""The share of the time below which the CPU time of a thread is that of one that waits for something."""

WANTS_CPU = 0.8
"""The share of the time above which a thread that runs, or waits for a processor, does nothing else."""

MOST = 0.8
"""The share of a delay that a task takes at least which was the only one."""

HOLDER_CPU = 0.8
"""The share of the CPU time of a process that a thread uses at least which holds the interpreter's lock."""

WAITING_SLICES = 0.1
"""How often a thread that waits for the interpreter's lock runs at least, in each switch interval (of 1)."""


class Blocks:
    """Reports what blocks the event loops of this process, and measures their lag.

    Args:
        collecting: returns the seconds spent in garbage collection so far.
        send: called with the fields of each report.
        after: the seconds after which a loop counts as blocked; infinity: only the lag is measured.
    """

    def __init__(
        self,
        collecting: Callable[[], float],
        send: Callable[[Dict[str, Any]], None],
        after: float = BLOCKED_AFTER,
    ) -> None:
        self.looks, self.after = after < FOR_EVER, after
        self._collecting, self._send = collecting, send
        self._beats: Dict[int, Heartbeat] = {}
        """By ``id`` of the loop."""
        self._found = self._blocks = 0
        self._loops_due = self._sample_due = 0.0
        self._used, self._own = process_time(), 0.0
        self._late: List[Tuple[float, float, float]] = []
        """When this thread did not run though it should have: from, to, and the seconds without CPU time."""

    def set_after(self, after: float) -> None:
        """Change the seconds after which a loop counts as blocked."""
        self.looks, self.after = after < FOR_EVER, after
        for key, beat in list(self._beats.items()):
            if key in TRIO:
                beat.after = after
            else:  # another one is found at once
                self._beats.pop(key).stop()
        self._loops_due = 0.0

    def loops(self) -> List[Dict[str, Any]]:
        """Return the ``loops`` of a tick, the latest first."""
        now = monotonic()
        if not self.looks:
            self._find_loops(now)
        found: List[Dict[str, Any]] = [
            {"name": beat.name, "kind": beat.kind, "lag": round(beat.lag(now), 6)}
            for beat in self._beats.values()
        ]
        found.sort(key=lambda one: one["lag"], reverse=True)
        return found[:MAX_LOOPS]

    def step(self, now: float, due: float) -> float:
        """Sample the loops that are overdue, and report what has blocked them.

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
        overdue = [beat for beat in self._beats.values() if beat.overdue(now) >= OVERDUE]
        # Of a block that goes on for long, samples that are farther apart tell as much.
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
        return now + (interval if overdue else min(MAX_INTERVAL, LOOKS * self.after))

    def _note_lateness(self, now: float, late: float) -> None:
        used = process_time()
        if late > LATE:
            self._late = [*self._late[-MAX_LATE:], (now - late, now, max(0.0, late - (used - self._used)))]
        self._used = used

    def _find_loops(self, now: float) -> None:
        running = {id(loop) for loop in COUNTS.open_loops() if loop.is_running()}
        for key in set(self._beats) - running - set(TRIO):
            self._beats.pop(key).stop()
        for key in running - set(self._beats):
            interval = min(MAX_INTERVAL, BEATS * self.after)
            timer = TimerHeartbeat(
                self._next_name(), COUNTS.loops[key], interval, self._collecting, self.after
            )
            self._beats[key] = timer
            timer.start()
        for key, beat in list(TRIO.items()):
            if key not in self._beats:
                beat.name, beat.collecting, beat.after = self._next_name(), self._collecting, self.after
                self._beats[key] = beat

    def _next_name(self) -> str:
        self._found += 1
        return f"loop {self._found}"

    def stop(self) -> None:
        """Stop all heartbeats."""
        for beat in self._beats.values():
            beat.stop()

    def _report(self, beat: Heartbeat, now: float) -> None:
        """Report the blocks of a loop that have ended, and one that goes on."""
        began = beat.began  # first: the loop's thread changes it when it has added a delay
        while beat.delays:
            self._judge(beat, beat.delays.pop(0), True)
            beat.number = None
        beat.samples = [sample for sample in beat.samples if sample.time >= began]
        if beat.overdue(now) > 0 and now - max(began, beat.reported) >= PROGRESS_INTERVAL:
            beat.reported = now
            self._judge(beat, beat.delay(now), False)

    def _judge(self, beat: Heartbeat, delay: Delay, ended: bool) -> None:
        """Report the block of a loop that was late, if it is one.

        Args:
            beat: the loop's heartbeat.
            delay: the time in which it was late.
            ended: whether it has ended.
        """
        began, end = delay.began, delay.ended
        if end - began < self.after:
            return
        usage = beat.usage()
        samples = [sample for sample in beat.samples if began <= sample.time <= end]
        run = longest_run(samples, began, end, usage)
        seconds = end - began
        cause = "gc" if delay.collected > seconds / 2 else self._cause(run, delay)
        sample = None
        if cause == "code":
            if run is None or run.seconds < self.after:
                return  # many short callbacks, or the loop's own code
            began, seconds, sample = run.began, run.seconds, run.typical()
            exact = sample.late <= seconds / 2
            holds = ended and delay.used > HOLDER_CPU * delay.process and bool(sample.own)
            if self._waited_for_lock(run) if exact else not holds:
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
                group=sample.group or None,
            )
        self._send(report)

    def _cause(self, run: Optional[Run], delay: Delay) -> str:
        """Return ``"stopped"`` if the process, or the loop's thread, did not run; else ``"code"``."""
        seconds = delay.ended - delay.began
        cpu, waited, _ = (run.used() if run is not None else None) or (0.0, 0.0, 0)
        lost = max(waited, self._late_within(delay.began, delay.ended)[1])
        # A thread that has run, or waited for a processor, ever since it was first seen has done nothing else
        # before: then it is its CPU time that counts.
        runs = run is not None and cpu + waited > WANTS_CPU * (run.ended - run.samples[0].time)
        starved = runs and waited > cpu and delay.used < self.after
        if not (starved or (lost > seconds / 2 and seconds - lost < self.after)):
            return "code"
        # It is one, too, if the same task, or code that held the lock, got half of the CPU time of a block.
        same = run is not None and (len(run.samples) > 1 or run.samples[0].late > seconds / 2)
        alone = run is not None and same and run.seconds > MOST * seconds
        return "code" if alone and delay.used >= self.after / 2 else "stopped"

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


def _sample(overdue: List[Heartbeat], known: Set[int], now: float, late: float) -> None:
    """Sample the stacks of the loops that are overdue; the threads of some loops are known.

    No reference to a frame is left: it would delay the end of the program's objects.
    """
    frames = sys._current_frames()
    del frames[get_ident()]  # this one: it refers to ``frames``, and would keep all of them alive
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
