"""Tasks as greenlets of gevent."""

from __future__ import annotations

from time import monotonic

import gevent
from gevent.event import Event

from concwatch.worker.burst import Record
from concwatch.worker.engines.bodies import BODIES
from concwatch.worker.engines.pace import PROBE, Batch, LoopEngine
from concwatch.worker.timing import Begun
from concwatch.worker.workloads import HTTP, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from concwatch.worker.burst import Burst
    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Spread, Workload


class HubBaton:
    """What greenlets sleep on. To kill one is to raise in it, so nothing has to be checked."""

    sleep = staticmethod(gevent.sleep)

    @staticmethod
    def wait() -> None:
        """Sleep until killed."""
        gevent.get_hub().switch()  # nothing is there that would switch back

    @staticmethod
    def check() -> None:
        """Go on."""


# A sleeping greenlet runs gevent.sleep itself: no frame of ours is in its bytes.
DIRECT: Dict[str, Callable[..., object]] = {"sleep": gevent.sleep, "hold": HubBaton.wait}


def _find_fetch(workload: Workload) -> Callable[[], object]:
    """Return what fetches the workload's page and lets other greenlets run meanwhile."""
    from gevent import monkey

    # Before requests is imported. Nothing else is patched: the threads of the wire must stay threads.
    monkey.patch_socket()
    monkey.patch_ssl()
    monkey.patch_select()
    from concwatch.worker.fetch import find_fetch

    return find_fetch(workload, coroutine=False)


class GeventEngine(LoopEngine):
    """Runs each task as a ``gevent.Greenlet``, all on the main thread's hub."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        hub = gevent.get_hub()
        hub.exception_stream = None  # a failure is counted and told once, not printed a thousand times
        self._awake = Event()
        self._waker = hub.loop.async_()  # the one part of a hub that another thread may touch
        self._waker.start(self._awake.set)
        self._timer = hub.loop.timer(PROBE)
        # Greenlets are called with their arguments: a partial would have each keep 500 bytes more of stack.
        self._call: Tuple[Any, ...] = (HubBaton.check,)
        self._lengths: Optional[Spread] = None  # what gives each call its last argument

    def wake(self) -> None:
        """Wake the hub, from any thread."""
        self._waker.send()

    def flags(self) -> List[str]:
        """The version of gevent."""
        return [f"gevent {gevent.__version__}"]

    def _probe(self) -> None:
        self.lateness.fired()
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
            self._lengths, word = workload.lengths, workload.word
            body = (DIRECT[word],) if word in DIRECT else (BODIES[word], HubBaton)
            self._call = (*body, *(() if self._lengths else workload.values))
        self.batch = Batch()  # how long they take to create is not known any more

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
                    self._grow(min(wanted, self.batch.size))
                elif wanted < 0 and not self._shrink():
                    break  # the rest ignores that it was killed; look again when something ends
                self.apply_commands()
                if wanted == 0:
                    break
                self.reached_text()
            self.reached_text()

    def _grow(self, count: int) -> None:
        began = self.create_slice(count)
        # What is ready runs in order, so behind this every task of the slice has had its first step.
        gevent.sleep(0)
        self.end_slice(count, began)

    def call_soon(self, call: Callable[[List[Any]], None], argument: List[Any]) -> None:
        """Have the hub call it before whatever is made ready later."""
        gevent.get_hub().loop.run_callback(call, argument)

    def create(self, count: int) -> Optional[gevent.Greenlet]:
        """Create and count so many greenlets; return the last."""
        spawn, call, lengths = gevent.spawn, self._call, self._lengths
        ended, keep = self.ended_bound, self.kept.add
        greenlet = None
        made = 0
        try:
            while made < count:
                greenlet = spawn(*call, lengths()) if lengths else spawn(*call)
                made += 1
                greenlet.rawlink(ended)
                keep(greenlet)
        finally:
            self.counts.created += made
            self.goal.created(made)
        return greenlet

    def time_end(self, task: gevent.Greenlet, begun: float) -> None:
        """Have the end of a greenlet timed that began at ``begun``."""
        task.rawlink(Begun(begun))

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
                self.ended(task)
            if len(tasks) < size:
                break
        gevent.joinall(older)
        for task in older:
            self.ended(task)
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

    def timed_ended(self, begun: float, task: gevent.Greenlet) -> None:
        """Take note of a timed greenlet that has ended."""
        if task.exception is None and not isinstance(task.value, gevent.GreenletExit):
            self.timing.completed(begun, monotonic())

    def ended(self, task: gevent.Greenlet) -> None:
        """Count a greenlet that has ended."""
        if isinstance(task.value, gevent.GreenletExit):
            self.counts.cancelled += 1
        elif task.exception is None:
            self.counts.completed += 1
        else:
            self.tell_failure(task.exception)  # before it is counted: who reads the count finds the reason
            self.counts.failed += 1
        self.kept.discard(task)
        self.ending.discard(task)
        if not self._awake.is_set():
            self._awake.set()

    def _shrink(self) -> bool:
        """Kill the excess, in slices; say whether any ended."""
        before = self.counts.live
        while self.excess() > 0 and self.kept:
            began = monotonic()
            for _ in range(min(self.excess(), len(self.kept), self.end_batch.size)):
                task = self.kept.pop()
                self.ending.add(task)
                task.kill(block=False)
            # It is thrown into, it ends, its link is called: three rounds of what is ready.
            for _ in range(3):
                gevent.sleep(0)
            self.end_batch.shrank(monotonic() - began)
            self.apply_commands()
        return self.counts.live < before
