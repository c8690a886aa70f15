"""Tasks on an event loop: one engine, whichever loop runs it."""

from __future__ import annotations

import asyncio
import contextvars
from functools import partial
from time import monotonic, thread_time

from concwatch.worker.engines.pace import PROBE, Batch, LoopEngine
from concwatch.worker.timing import Begun
from concwatch.worker.workloads import find_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Dict, Iterable, List, Optional

    from concwatch.worker.burst import Burst
    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Workload

    Body = Callable[[], Coroutine[Any, Any, object]]


async def _ticks(count: int, seconds: float) -> None:
    for _ in range(count):
        await asyncio.sleep(seconds)


async def _hold() -> None:
    # Each waits on a future of its own: leaving a shared Event's queue costs time in the number of waiters.
    await asyncio.get_running_loop().create_future()


async def _payload(size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that nobody ever touched
    await _hold()
    del held


async def _spin(seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        pass


async def _nop() -> None:
    pass


BODIES: Dict[str, Callable[..., Coroutine[Any, Any, object]]] = {
    # The coroutine of a sleeping task is asyncio.sleep itself: no frame of ours is in its bytes.
    "sleep": asyncio.sleep,
    "ticks": _ticks,
    "hold": _hold,
    "payload": _payload,
    "spin": _spin,
    "nop": _nop,
}

ANCHORED = {"sleep", "ticks", "spin", "nop"}
"""Workloads whose tasks the loop itself keeps alive; a loop holds any other task only weakly."""


class EventLoopEngine(LoopEngine):
    """Runs each task as an ``asyncio.Task``; ``new_loop`` makes the loop, ``library`` names its origin."""

    def __init__(
        self,
        send: Callable[..., None],
        collector: Collector,
        new_loop: Callable[[], asyncio.AbstractEventLoop],
        library: str = "",
    ) -> None:
        super().__init__(send, collector)
        self.loop = new_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(
            asyncio.sleep(0)
        )  # a loop that does not run fails here, where it can be reported
        self._library = library
        self._awake = asyncio.Event()
        self._body: Body = _nop
        self._context = contextvars.copy_context()  # made once, so that tasks share it, as `ended_bound`
        self._keep = False

    def wake(self) -> None:
        """Wake the loop, from any thread."""
        self.loop.call_soon_threadsafe(self._awake.set)

    def flags(self) -> List[str]:
        """The library that the loop comes from."""
        return [self._library] if self._library else []

    def _probe(self) -> None:
        self.lateness.fired()
        self.loop.call_later(PROBE, self._probe)

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do; the user's own must be a coroutine function."""
        own = find_own(workload, coroutine=True)
        if own:
            self._body = own
        else:
            body, lengths = BODIES[workload.word], workload.lengths
            if lengths:
                self._body = lambda: body(lengths())
            else:
                self._body = partial(body, *workload.values) if workload.values else body
        self._keep = workload.word not in ANCHORED
        self.batch = Batch()  # how long they take to create is not known any more

    def serve(self) -> None:
        """Run the loop, and on it hold the goal."""
        self.loop.run_until_complete(self._hold_goal())

    async def _hold_goal(self) -> None:
        self._probe()
        for wait in self.hold():
            if wait is None:
                await self._awake.wait()
                self._awake.clear()
            elif isinstance(wait, list):
                await asyncio.gather(*wait, return_exceptions=True)
            else:
                await asyncio.sleep(wait)

    def call_soon(self, call: Callable[[List[Any]], None], argument: List[Any]) -> None:
        """Have the loop call it before whatever is made ready later."""
        self.loop.call_soon(call, argument, context=self._context)

    def create(self, count: int) -> Optional[asyncio.Task[object]]:
        """Create and count so many tasks; return the last."""
        create, body = self.loop.create_task, self._body
        ended, context = self.ended_bound, self._context
        keep = self.kept.add if self._keep else None
        task = None
        made = 0
        try:
            while made < count:
                task = create(body())
                made += 1
                task.add_done_callback(ended, context=context)
                if keep:
                    keep(task)
        finally:
            self.counts.created += made
            self.goal.created(made)
        return task

    def create_list(self, count: int, older: List[asyncio.Task[object]]) -> List[asyncio.Task[object]]:
        """Create and count so many tasks without a pause, up to a wall; none of them is watched."""
        create, body = self.loop.create_task, self._body
        try:
            tasks = [create(body()) for _ in range(count)]
        except MemoryError as error:
            self.hit_wall(error)
            tasks = list(asyncio.all_tasks(self.loop).difference(older, {asyncio.current_task()}))
        self.counts.created += len(tasks)
        return tasks

    def is_live(self, task: asyncio.Task[object]) -> bool:
        """Whether a task has not ended."""
        return not task.done()

    def time_end(self, task: asyncio.Task[object], begun: float) -> None:
        """Have the end of a task timed that began at ``begun`` and has not ended."""
        ended = Begun(begun)  # no memory for it shows before anything is changed
        task.remove_done_callback(self.ended_bound)
        task.add_done_callback(ended, context=self._context)

    def timed_ended(self, begun: float, task: asyncio.Task[object]) -> None:
        """Take note of a timed task that has ended."""
        self.ended(task)
        if not task.cancelled() and task.exception() is None:
            self.timing.completed(begun, monotonic())

    def ended(self, task: asyncio.Task[object]) -> None:
        """Count a task that has ended."""
        if task.cancelled():
            self.counts.cancelled += 1
        else:
            error = task.exception()
            if error is None:
                self.counts.completed += 1
            else:
                self.report_failure(error)  # before it is counted: who reads the count finds the reason
                self.counts.failed += 1
        if self._keep or self.kept:
            self.kept.discard(task)
        if self.ending:
            self.ending.discard(task)
        if not self._awake.is_set():
            self._awake.set()

    def tasks(self) -> Iterable[asyncio.Task[object]]:
        """Return all live tasks."""
        # The loop knows its tasks already: keeping them ourselves would cost each of them 60 to 180 bytes.
        # Where we keep them all the same, those that the user's functions started are not among them.
        if self.kept:
            return self.kept
        found = asyncio.all_tasks(self.loop)
        found.discard(asyncio.current_task(self.loop))
        return found

    def cancel(self, task: asyncio.Task[object]) -> bool:
        """Have a task end; return whether it will."""
        return task.cancel()


class EagerEngine(EventLoopEngine):
    """Begins each task as it is created, by ``asyncio.eager_task_factory`` (Python 3.12)."""

    def __init__(
        self,
        send: Callable[..., None],
        collector: Collector,
        new_loop: Callable[[], asyncio.AbstractEventLoop],
    ) -> None:
        super().__init__(send, collector, new_loop)
        self.loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]  # not in 3.9

    def ask_burst(self, burst: Burst) -> None:
        """Have a burst run; tasks begin as they are created, so there is no ``older`` here."""
        if burst.older:
            raise ValueError("older tasks that have not begun: an eager task begins as it is created")
        super().ask_burst(burst)

    def create_timed(self, created: float) -> None:
        """Create a task that is timed, chosen at ``created``: it begins at once, and may end at once."""
        begun = monotonic()
        task = self.create(1)
        assert task is not None
        self.timing.begun(created, begun)
        if not task.done():
            self.time_end(task, begun)
        elif not task.cancelled() and task.exception() is None:
            self.timing.completed(begun, monotonic())
