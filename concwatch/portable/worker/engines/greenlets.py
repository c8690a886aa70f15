"""Tasks as greenlets of gevent."""

from __future__ import annotations

from time import monotonic

import gevent
from gevent.event import Event

from concwatch.portable.agent.memory.memory_maps import HEAP, OTHER
from concwatch.portable.protocol.workloads import HTTP, SLEEPS
from concwatch.portable.worker.engines.bodies import BODIES
from concwatch.portable.worker.engines.loop import PROBE, Batch, LoopEngine
from concwatch.portable.worker.tasks.callables import load_callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Dict, Iterable, List, Optional, Tuple

    from concwatch.portable.protocol.workloads import Durations, Workload
    from concwatch.portable.worker.collector import Collector


class HubToken:
    """What greenlets sleep on. Killing one raises an exception in it, so there is nothing to check."""

    sleep = staticmethod(gevent.sleep)

    @staticmethod
    def wait() -> None:
        """Sleep until killed."""
        gevent.get_hub().switch()  # nothing ever switches back

    @staticmethod
    def check() -> None:
        """Do nothing."""

    @staticmethod
    def socket_opener() -> Callable[[], Any]:
        """Return a function that creates a socket which lets other greenlets run while one waits for it."""
        from gevent.socket import socket  # not at the top: other workloads do not need it

        return socket  # type: ignore[no-any-return]  # gevent ships no types


# A sleeping greenlet runs gevent.sleep itself: a frame around it would add to its bytes.
DIRECT: Dict[str, Callable[..., object]] = {"sleep": gevent.sleep, "hold": HubToken.wait}


def _patch_sockets() -> None:
    """Let other greenlets run while one waits for a socket; call this before requests is imported."""
    from gevent import monkey

    # Nothing else is patched: the wire's threads must remain threads.
    monkey.patch_socket()
    monkey.patch_ssl()
    monkey.patch_select()


class Task(gevent.Greenlet):  # type: ignore[misc]  # gevent ships no types
    """A greenlet that saves as few of the frames that spawned it as one of a small program would.

    gevent saves up to ten, which take 10 µs and 300 bytes: a program that spawns from a function of its main
    module has two.
    """

    __slots__ = ()
    spawning_stack_limit = 2


class GeventEngine(LoopEngine):
    """Runs each task as a ``gevent.Greenlet`` on the main thread's hub."""

    native: ClassVar[Dict[str, str]] = {
        OTHER: "Python frames (data stack) and other C memory",
        HEAP: "saved C stack (C heap)",
    }

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        hub = gevent.get_hub()
        hub.exception_stream = None  # a failure is counted and reported once, not printed a thousand times
        self._awake = Event()
        self._waker = hub.loop.async_()  # the only part of a hub that other threads may use
        self._waker.start(self._awake.set)
        # Started again in its own callback, a timer of gevent 25.9 and 26.9 fires at once, without end.
        self._timer = hub.loop.timer(PROBE, PROBE)
        # Greenlets get their arguments directly: a partial would cost each 500 bytes more of stack.
        self._call: Tuple[Any, ...] = (HubToken.check,)
        self._durations: Optional[Durations] = None  # returns the last argument of each call

    def wake(self) -> None:
        """Wake the hub, from any thread."""
        self._waker.send()

    def flags(self) -> List[str]:
        """Return the version of gevent."""
        return [f"gevent {gevent.__version__}"]

    def load(self, workload: Workload) -> None:
        """Set the workload of new tasks; a user's function must be a plain one."""
        self._durations = None
        if workload.word == HTTP:
            _patch_sockets()
        own = load_callable(workload, coroutine=False, token=HubToken)
        if own:
            self._call = (own,)
        else:
            word = SLEEPS.get(workload.word, workload.word)
            self._durations = workload.durations(self.running_target)
            body = (DIRECT[word],) if word in DIRECT else (BODIES[word], HubToken)
            self._call = (*body, *(() if self._durations else workload.values))
        self.batch = Batch()  # how long the new tasks take to create is unknown

    def serve(self) -> None:
        """Hold the target; the hub runs whenever this greenlet waits."""
        self._timer.start(self.lateness.fired)
        for wait in self.hold_target():
            if wait is None:
                self._awake.wait()
                self._awake.clear()
            elif isinstance(wait, list):
                gevent.joinall(wait)
            else:
                gevent.sleep(wait)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call ``call`` on the hub before anything that becomes ready later."""
        gevent.get_hub().loop.run_callback(call)

    def create(self, count: int) -> Optional[gevent.Greenlet]:
        """Create and count ``count`` greenlets; return the last one."""
        spawn, call, durations = Task.spawn, self._call, self._durations
        ended, keep = self.end_callback, self.kept.add
        greenlet = None
        made = 0
        try:
            while made < count:
                greenlet = spawn(*call, durations()) if durations else spawn(*call)
                made += 1
                greenlet.rawlink(ended)
                keep(greenlet)
        finally:
            self.counts.created += made
            self.tracker.created(made)
        return greenlet

    def create_list(self, count: int, older: List[gevent.Greenlet]) -> List[gevent.Greenlet]:
        """Create and count ``count`` greenlets without a pause, up to a limit; none has a callback."""
        spawn, call, durations = Task.spawn, self._call, self._durations
        tasks: List[gevent.Greenlet] = []
        try:
            for _ in range(count):
                tasks.append(spawn(*call, durations()) if durations else spawn(*call))
        except MemoryError as error:
            self.limits.hit(error)
        self.counts.created += len(tasks)
        return tasks

    def handle_end(self, task: gevent.Greenlet) -> None:
        """Count a greenlet that has ended, and record its duration if it was timed and has completed."""
        begun = self.timed.pop(task, None)
        self.kept.discard(task)
        self.cancelling.discard(task)
        if isinstance(task.value, gevent.GreenletExit):
            self.counts.cancelled += 1
        elif task.exception is None:
            self.counts.completed += 1
            if begun is not None:
                self.timing.record_completion(begun, monotonic())
            if self.replacements:
                self.replace()
                return
        else:
            self.failures.add(task.exception)  # before the count that refers to it
            self.counts.failed += 1
        if not self._awake.is_set():
            self._awake.set()

    def is_live(self, task: gevent.Greenlet) -> bool:
        """Return whether a greenlet has not ended."""
        return not task.dead

    def tasks(self) -> Iterable[gevent.Greenlet]:
        """Return all live greenlets."""
        return self.kept

    def cancel(self, task: gevent.Greenlet) -> bool:
        """Cancel a greenlet, which is always possible."""
        task.kill(block=False)
        return True
