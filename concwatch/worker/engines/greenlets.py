"""Tasks as greenlets of gevent."""

from __future__ import annotations

from time import monotonic, thread_time

import gevent
from gevent.event import Event

from concwatch.worker.burst import Record
from concwatch.worker.engines.base import Engine
from concwatch.worker.engines.pace import PROBE, Batch, EndBatch, Lateness
from concwatch.worker.timing import Begun
from concwatch.worker.workloads import HTTP, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    from concwatch.worker.burst import Burst
    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Spread, Workload


def _ticks(count: int, seconds: float) -> None:
    for _ in range(count):
        gevent.sleep(seconds)


def _hold() -> None:
    gevent.get_hub().switch()  # nothing is there that would switch back; to kill it is to raise here


def _payload(size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that nobody ever touched
    _hold()
    del held


def _spin(seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def _nop() -> None:
    pass


BODIES: Dict[str, Callable[..., object]] = {
    # A sleeping greenlet runs gevent.sleep itself: no frame of ours is in its bytes.
    "sleep": gevent.sleep,
    "ticks": _ticks,
    "hold": _hold,
    "payload": _payload,
    "spin": _spin,
    "nop": _nop,
}


def _find_fetch(workload: Workload) -> Callable[[], object]:
    """Return what fetches the workload's page and lets other greenlets run meanwhile."""
    from gevent import monkey

    # Before requests is imported. Nothing else is patched: the threads of the wire must stay threads.
    monkey.patch_socket()
    monkey.patch_ssl()
    monkey.patch_select()
    from concwatch.worker.fetch import find_fetch

    return find_fetch(workload, coroutine=False)


class GeventEngine(Engine):
    """Runs each task as a ``gevent.Greenlet``, all on the main thread's hub."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        hub = gevent.get_hub()
        hub.exception_stream = None  # a failure is counted and told once, not printed a thousand times
        self._awake = Event()
        self._waker = hub.loop.async_()  # the one part of a hub that another thread may touch
        self._waker.start(self._awake.set)
        self._timer = hub.loop.timer(PROBE)
        self._batch, self._end_batch = Batch(), EndBatch()
        self._lateness = Lateness()
        # Greenlets are called with their arguments: a partial would have each keep 500 bytes more of stack.
        self._call: Tuple[Any, ...] = (_nop,)
        self._lengths: Optional[Spread] = None  # what gives each call its last argument
        self._ended_bound = self._ended  # made once, so that tasks share it
        Begun.ended = self._timed_ended
        self._kept: Set[gevent.Greenlet] = set()  # to be found when they are to be killed
        self._ending: Set[gevent.Greenlet] = set()  # killed, and not ended yet

    def wake(self) -> None:
        """Wake the hub, from any thread."""
        self._waker.send()

    def flags(self) -> List[str]:
        """The version of gevent."""
        return [f"gevent {gevent.__version__}"]

    def lag(self, reporter_lag: float) -> float:
        """Seconds a timer of the hub fired late, at worst since the last call, one overdue now included."""
        return self._lateness.take()

    def _probe(self) -> None:
        self._lateness.fired()
        self._timer.start(self._probe, update=True)

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do; the user's own must be a plain function."""
        self._lengths = None
        if workload.word == USER:
            from concwatch.worker.user_function import (
                find_function,
            )  # with inspect behind it, only for who asks

            self._call = (find_function(workload, coroutine=False),)
        elif workload.word == HTTP:
            self._call = (_find_fetch(workload),)
        else:
            self._lengths = workload.lengths
            self._call = (BODIES[workload.word], *(() if self._lengths else workload.values))
        self._batch = Batch()  # how long they take to create is not known any more

    def serve(self) -> None:
        """Hold the goal; the hub runs whenever this greenlet waits."""
        self._probe()
        while True:
            self._awake.wait()
            self._awake.clear()
            self.apply_commands()
            while self.bursts:
                self._run_burst(self.bursts.popleft())
            while True:
                wanted = self.goal.wanted(self.counts.live)
                if wanted > 0:
                    self._grow(min(wanted, self._batch.size))
                elif wanted < 0 and not self._shrink():
                    break  # the rest ignores that it was killed; look again when something ends
                self.apply_commands()
                if wanted == 0:
                    break
                self.reached_text()
            self.reached_text()

    def _grow(self, count: int) -> None:
        began = monotonic()
        self.collector.before_slice()
        try:
            self._create(count)
        except MemoryError as error:
            self.hit_wall(error)
        # What is ready runs in order, so behind this every task of the slice has had its first step.
        gevent.sleep(0)
        self.collector.after_slice()
        self._batch.grew(count, monotonic() - began)

    def _create(self, count: int) -> None:
        while count:
            skipped = self.timing.skip(count)
            self._create_some(skipped)
            if skipped < count:
                self._create_some(1, self.timing.chosen())
                skipped += 1
            count -= skipped

    def _create_some(self, count: int, timed_from: Optional[float] = None) -> None:
        spawn, call, lengths = gevent.spawn, self._call, self._lengths
        ended, keep = self._ended_bound, self._kept.add
        made = 0
        try:
            if timed_from is not None:
                timed: List[Any] = [timed_from, None]
                # What is ready runs in order: this right before the greenlet.
                gevent.get_hub().loop.run_callback(self._begun, timed)
            while made < count:
                greenlet = spawn(*call, lengths()) if lengths else spawn(*call)
                made += 1
                greenlet.rawlink(ended)
                keep(greenlet)
            if timed_from is not None:
                timed[1] = greenlet
        finally:
            self.counts.created += made
            self.goal.created(made)

    def _run_burst(self, burst: Burst) -> None:
        """Run each part by ``spawn`` in a list and ``joinall``, as published experiments do.

        Nothing of ours is on a greenlet meanwhile, so its end is counted when its part has ended.
        """
        self.goal.pause(burst.tasks)
        older = self._spawn(burst.older)
        self.counts.created += len(older)
        record = Record(self.traced)
        for size in burst.sizes():
            record.begin_part()
            self.collector.before_slice()
            tasks = self._spawn(size)
            record.created(len(tasks))
            self.counts.created += len(tasks)
            self.collector.after_slice()
            if burst.read_after is not None:
                gevent.sleep(burst.read_after)
                record.read()
                record.live(sum(not task.dead for task in tasks))
            gevent.joinall(tasks)
            record.end_part()
            for task in tasks:
                self._ended(task)
            if len(tasks) < size:
                break
        gevent.joinall(older)
        for task in older:
            self._ended(task)
        self.goal.resume()
        self.send("burst", **record.fields())
        self.on_reached()

    def _spawn(self, count: int) -> List[gevent.Greenlet]:
        """Create so many greenlets without a pause, up to a wall; none has begun yet."""
        spawn, call, lengths = gevent.spawn, self._call, self._lengths
        tasks: List[gevent.Greenlet] = []
        try:
            for _ in range(count):
                tasks.append(spawn(*call, lengths()) if lengths else spawn(*call))
        except MemoryError as error:
            self.hit_wall(error)
        return tasks

    def _begun(self, timed: List[Any]) -> None:
        """Note the beginning of a timed greenlet: ``timed`` is when it was created, and itself."""
        created, greenlet = timed
        if greenlet is None:  # there was no memory for it
            return
        now = monotonic()
        self.timing.begun(created, now)
        greenlet.rawlink(Begun(now))

    def _timed_ended(self, begun: float, task: gevent.Greenlet) -> None:
        if task.exception is None and not isinstance(task.value, gevent.GreenletExit):
            self.timing.completed(begun, monotonic())

    def _ended(self, task: gevent.Greenlet) -> None:
        if isinstance(task.value, gevent.GreenletExit):
            self.counts.cancelled += 1
        elif task.exception is None:
            self.counts.completed += 1
        else:
            self.tell_failure(task.exception)  # before it is counted: who reads the count finds the reason
            self.counts.failed += 1
        self._kept.discard(task)
        self._ending.discard(task)
        if not self._awake.is_set():
            self._awake.set()

    def _shrink(self) -> bool:
        """Kill the excess, in slices; say whether any ended."""
        before = self.counts.live
        while self._excess() > 0 and self._kept:
            began = monotonic()
            for _ in range(min(self._excess(), len(self._kept), self._end_batch.size)):
                task = self._kept.pop()
                self._ending.add(task)
                task.kill(block=False)
            # It is thrown into, it ends, its link is called: three rounds of what is ready.
            for _ in range(3):
                gevent.sleep(0)
            self._end_batch.shrank(monotonic() - began)
            self.apply_commands()
        return self.counts.live < before

    def _excess(self) -> int:
        """Count the tasks still to be killed; one that takes its time to end is not asked for twice."""
        return -self.goal.wanted(self.counts.live) - len(self._ending)
