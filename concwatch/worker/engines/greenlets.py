"""Tasks as greenlets of gevent."""

from __future__ import annotations

from time import monotonic

import gevent
from gevent.event import Event

from concwatch.worker.engines.bodies import BODIES
from concwatch.worker.engines.pace import PROBE, Batch, LoopEngine
from concwatch.worker.timing import Begun
from concwatch.worker.workloads import HTTP, find_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

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


def _patch_sockets() -> None:
    """Have whoever waits for a socket let other greenlets run; to be called before requests is imported."""
    from gevent import monkey

    # Nothing else is patched: the threads of the wire must stay threads.
    monkey.patch_socket()
    monkey.patch_ssl()
    monkey.patch_select()


class GeventEngine(LoopEngine):
    """Runs each task as a ``gevent.Greenlet``, all on the main thread's hub."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        hub = gevent.get_hub()
        hub.exception_stream = None  # a failure is counted and reported once, not printed a thousand times
        self._awake = Event()
        self._waker = hub.loop.async_()  # the one part of a hub that another thread may touch
        self._waker.start(self._awake.set)
        self._timer = hub.loop.timer(PROBE)
        # Greenlets are called with their arguments: a partial would have each keep 500 bytes more of stack.
        self._call: Tuple[Any, ...] = (HubBaton.check,)
        self._lengths: Optional[Spread] = None  # what returns the last argument of each call

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
        if workload.word == HTTP:
            _patch_sockets()
        own = find_own(workload, coroutine=False)
        if own:
            self._call = (own,)
        else:
            self._lengths, word = workload.lengths, workload.word
            body = (DIRECT[word],) if word in DIRECT else (BODIES[word], HubBaton)
            self._call = (*body, *(() if self._lengths else workload.values))
        self.batch = Batch()  # how long they take to create is not known any more

    def serve(self) -> None:
        """Hold the goal; the hub runs whenever this greenlet waits."""
        self._probe()
        for wait in self.hold():
            if wait is None:
                self._awake.wait()
                self._awake.clear()
            elif isinstance(wait, list):
                gevent.joinall(wait)
            else:
                gevent.sleep(wait)

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

    def create_list(self, count: int, older: List[gevent.Greenlet]) -> List[gevent.Greenlet]:
        """Create and count so many greenlets without a pause, up to a wall; none has begun, or is watched."""
        spawn, call, lengths = gevent.spawn, self._call, self._lengths
        tasks: List[gevent.Greenlet] = []
        try:
            for _ in range(count):
                tasks.append(spawn(*call, lengths()) if lengths else spawn(*call))
        except MemoryError as error:
            self.hit_wall(error)
        self.counts.created += len(tasks)
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
            self.report_failure(task.exception)  # before it is counted: who reads the count finds the reason
            self.counts.failed += 1
        self.kept.discard(task)
        self.ending.discard(task)
        if not self._awake.is_set():
            self._awake.set()

    def is_live(self, task: gevent.Greenlet) -> bool:
        """Whether a greenlet has not ended."""
        return not task.dead

    def tasks(self) -> Iterable[gevent.Greenlet]:
        """Return all live greenlets."""
        return self.kept

    def cancel(self, task: gevent.Greenlet) -> bool:
        """Have a greenlet end."""
        task.kill(block=False)
        return True
