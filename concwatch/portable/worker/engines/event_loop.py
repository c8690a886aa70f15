"""Tasks on an event loop: one engine for every kind of loop."""

from __future__ import annotations

import asyncio
import contextvars
from functools import partial
from time import monotonic, thread_time

from concwatch.portable.protocol.workloads import SLEEPS, USER
from concwatch.portable.worker.engines.loop import PROBE, Batch, LoopEngine
from concwatch.portable.worker.tasks.callables import load_callable
from concwatch.portable.worker.tasks.setups import Setups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Dict, Iterable, List, Optional, Tuple

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.inbox import Waits
    from concwatch.portable.worker.loop_blocks import LoopBlocks
    from concwatch.portable.worker.tasks.setup import Setup

    Body = Callable[[], Coroutine[Any, Any, object]]


async def _ticks(count: int, seconds: float) -> None:
    for _ in range(count):
        await asyncio.sleep(seconds)


async def _hold() -> None:
    # A future per task: leaving the queue of a shared Event takes time in proportion to the waiters.
    await asyncio.get_running_loop().create_future()


async def _payload(size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that are never touched
    await _hold()
    del held


async def _spin(seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        pass


async def _nop() -> None:
    pass


BODIES: Dict[str, Callable[..., Coroutine[Any, Any, object]]] = {
    # The coroutine of a sleeping task is asyncio.sleep itself: a frame around it would add to its bytes.
    "sleep": asyncio.sleep,
    "ticks": _ticks,
    "hold": _hold,
    "payload": _payload,
    "spin": _spin,
    "nop": _nop,
}

LOOP_REFERENCED = {"sleep", "ticks", "spin", "nop"}
"""Workloads whose tasks the loop itself references; it holds other tasks only weakly."""


class LoopSetups(Setups):
    """Runs asynchronous set-ups as tasks of an event loop, on which other tasks go on meanwhile."""

    def __init__(self, send: Callable[..., None], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(send)
        self._loop = loop
        self._held: Dict[Setup, Tuple[asyncio.Task[None], asyncio.Event]] = {}
        """Async set-ups that have been entered, each with its task and what ends that."""

    def enter(self, setup: Setup) -> Waits:
        """Run the set-up of a function of the user."""
        if not setup.asynchronous:
            return (yield from super().enter(setup))
        entered, leaving = self._loop.create_future(), asyncio.Event()
        holder = self._loop.create_task(setup.hold(entered, leaving))
        yield [entered]
        entered.result()
        self._held[setup] = holder, leaving
        return True

    def leave(self, setup: Setup) -> Waits:
        """Run the tear-down of a function of the user."""
        if not setup.asynchronous:
            return (yield from super().leave(setup))
        holder, leaving = self._held.pop(setup)
        leaving.set()
        yield [holder]
        holder.result()
        return True


class EventLoopEngine(LoopEngine):
    """Runs each task as an ``asyncio.Task``.

    Args:
        send: sends a report.
        collector: the worker's garbage collector.
        new_loop: creates the event loop.
        library: the package that the loop comes from, with its version; empty for asyncio.
    """

    coroutines = True

    def __init__(
        self,
        send: Callable[..., None],
        collector: Collector,
        new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
        library: str = "",
    ) -> None:
        super().__init__(send, collector)
        self.loop = new_loop()
        asyncio.set_event_loop(self.loop)
        # A loop that does not run fails here, where it can be reported.
        self.loop.run_until_complete(asyncio.sleep(0))
        self._library = library
        self._awake = asyncio.Event()
        self._body: Body = _nop
        self._context = contextvars.copy_context()  # copied once, so that all tasks share it
        self._keep = False
        self._blocks: Optional[LoopBlocks] = None
        """Looks for what blocks the loop, while tasks run a function of the user."""
        self.setups = LoopSetups(send, self.loop)

    def wake(self) -> None:
        """Wake the loop, from any thread."""
        self.loop.call_soon_threadsafe(self._awake.set)

    def flags(self) -> List[str]:
        """Return the library that the loop comes from, if not asyncio."""
        return [self._library] if self._library else []

    def _probe(self) -> None:
        self.lateness.fired()
        self.loop.call_later(PROBE, self._probe)

    def load(self, workload: Workload) -> None:
        """Set the workload of new tasks; a user's function must be a coroutine function."""
        own = load_callable(workload, coroutine=True)
        self._look_for_blocks(workload.word == USER)
        if own:
            self._body = own
        else:
            word = SLEEPS.get(workload.word, workload.word)
            body, durations = BODIES[word], workload.durations(self.running_target)
            if durations:
                self._body = lambda: body(durations())
            else:
                self._body = partial(body, *workload.values) if workload.values else body
        self._keep = SLEEPS.get(workload.word, workload.word) not in LOOP_REFERENCED
        self.batch = Batch()  # how long the new tasks take to create is unknown

    def _look_for_blocks(self, on: bool) -> None:
        if self._blocks is not None:
            self._blocks.stop()
        self._blocks = None
        if on:
            from concwatch.portable.worker.loop_blocks import LoopBlocks  # imports much of the agent

            self._blocks = LoopBlocks(self.loop, lambda: self.collector.seconds, self.send)

    def serve(self) -> None:
        """Run the loop, and hold the target on it."""
        self.loop.run_until_complete(self._run())

    async def _run(self) -> None:
        self._probe()
        for wait in self.hold_target():
            if wait is None:
                await self._awake.wait()
                self._awake.clear()
            elif isinstance(wait, list):
                await asyncio.gather(*wait, return_exceptions=True)
            else:
                await asyncio.sleep(wait)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call ``call`` on the loop before anything that becomes ready later."""
        self.loop.call_soon(call, context=self._context)

    def create(self, count: int) -> Optional[asyncio.Task[object]]:
        """Create and count ``count`` tasks; return the last one."""
        create, body = self.loop.create_task, self._body
        ended, context = self.end_callback, self._context
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
            self.tracker.created(made)
        return task

    def create_list(self, count: int, older: List[asyncio.Task[object]]) -> List[asyncio.Task[object]]:
        """Create and count ``count`` tasks without a pause, up to a limit; none has a callback."""
        create, body = self.loop.create_task, self._body
        try:
            tasks = [create(body()) for _ in range(count)]
        except MemoryError as error:
            self.limits.hit(error)
            tasks = list(asyncio.all_tasks(self.loop).difference(older, {asyncio.current_task()}))
        self.counts.created += len(tasks)
        return tasks

    def is_live(self, task: asyncio.Task[object]) -> bool:
        """Return whether a task has not ended."""
        return not task.done()

    def handle_end(self, task: asyncio.Task[object]) -> None:
        """Count a task that has ended, and record its duration if it was timed and has completed."""
        begun = self.timed.pop(task, None)
        if self._keep or self.kept:
            self.kept.discard(task)
        if self.cancelling:
            self.cancelling.discard(task)
        if task.cancelled():
            self.counts.cancelled += 1
        else:
            error = task.exception()
            if error is None:
                self.counts.completed += 1
                if begun is not None:
                    self.timing.record_completion(begun, monotonic())
                if self.replacements:
                    self.replace()
                    return
            else:
                self.failures.add(error)  # before the count that refers to it
                self.counts.failed += 1
        if not self._awake.is_set():
            self._awake.set()

    def tasks(self) -> Iterable[asyncio.Task[object]]:
        """Return all live tasks."""
        # The loop has a set of its tasks already: another one would cost 60 to 180 bytes a task. Where `kept`
        # is needed all the same, it leaves out tasks that the user's functions have started.
        if self.kept:
            return self.kept
        found = asyncio.all_tasks(self.loop)
        found.discard(asyncio.current_task(self.loop))
        return found

    def cancel(self, task: asyncio.Task[object]) -> bool:
        """Cancel a task. Return whether it can be cancelled."""
        return task.cancel()


class EagerEngine(EventLoopEngine):
    """Starts each task as it is created, by ``asyncio.eager_task_factory`` (Python 3.12)."""

    older_refused = "an eager task begins as it is created"

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self.loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]  # not in 3.9

    def create_timed(self, created: float) -> None:
        """Create a timed task, chosen at ``created``; it begins at once, and may end at once."""
        begun = monotonic()
        task = self.create(1)
        assert task is not None
        self.timing.record_start(created, begun)
        if not task.done():
            self.timed[task] = begun
        elif not task.cancelled() and task.exception() is None:
            self.timing.record_completion(begun, monotonic())
