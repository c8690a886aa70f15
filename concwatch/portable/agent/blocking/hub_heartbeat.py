"""Measure how late the hubs of gevent run, by a repeating timer in each.

A timer that is started again in its own callback would fire a million times a second (gevent 25.9 and 26.9).
"""

from __future__ import annotations

import sys
from _weakref import ref
from time import monotonic, thread_time

from ..basics.guard import guarded
from ..basics.primitives import get_ident, get_native_id
from ..counting.counting import COUNTS
from .heartbeat import BUSY, LOOPS, OVERDUE, TRIO, Heartbeat, hand_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Optional, Tuple

    from ..counting.counted_group import CountedGroup

INTERVAL = 0.03
"""Seconds between two calls of the timer."""

MAX_SEARCHED = 5_000
"""The most greenlets among which the running one is searched for."""


class HubHeartbeat(Heartbeat):
    """A timer that a hub calls repeatedly; it is late if the hub is.

    It is created, and calls back, in the thread of the hub. The hub does not wait for it when nothing else is
    left to do.

    Args:
        hub: the hub.
    """

    def __init__(self, hub: Any) -> None:
        super().__init__("gevent", f"gevent.{type(hub).__name__}", float, float("inf"))
        # An active timer keeps the loop alive, so that it is closed when the hub is gone.
        self._hub = ref(hub, lambda _: self._close())
        self.thread, self._native_id = get_ident(), get_native_id()
        self.waiting = True
        self._idle = False
        """Whether the agent's thread has found that no greenlet waits for the hub since it last continued."""
        self._called = monotonic()
        self._timer = hub.loop.timer(INTERVAL, INTERVAL, ref=False)
        self._timer.start(self._call)

    def is_of(self, hub: Any) -> bool:
        """Return whether it is the heartbeat of a hub, and not stopped."""
        return not self.stopped and self._hub() is hub

    def _call(self) -> None:
        """Handle the timer, in the hub. Raises only what a signal handler raises."""
        if self.stopped:
            self._close()
            return
        now = monotonic()
        if self._beat(now):
            hand_over(self.due, now)

    @guarded(LOOPS)
    def _beat(self, now: float) -> bool:
        """End what the hub has been running, and begin to measure again; return whether it is busy."""
        if self._idle:
            self.due = self.began = now
        if not self.waiting:
            self._end(now)
        self._idle = False
        busy = thread_time() - self._used > BUSY * (now - self._called)
        self._called = now
        self._begin(now, now + INTERVAL, None)
        return busy

    def overdue(self, now: float) -> float:
        """Return the seconds by which the hub is late; 0 if nothing waits for it.

        The main greenlet of a program may use gevent for a while, and then do something else.
        """
        late = super().overdue(now)
        if late >= OVERDUE and not self._has_work():
            self._idle = True
            return 0.0
        return late

    def _has_work(self) -> bool:
        """Return whether a greenlet waits for a timer, for I/O or for its turn, as far as that is known."""
        loop: Any = getattr(self._hub(), "loop", None)
        if loop is None:  # it has been destroyed
            return False
        try:
            return bool(getattr(loop, "activecnt", 1) or getattr(loop, "_callbacks", ()))
        except ValueError:  # just now
            return False

    def sample(self, frame: FrameType, now: float, late: float) -> None:
        """Add a sample of the hub's thread: of a greenlet, or of a callback that the hub has called."""
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        run = getattr(type(self._hub()), "run", None)
        self.depth = int(outermost.f_code is getattr(run, "__code__", None))
        self._running = (0, None) if self.depth else self._find_running(outermost)
        super().sample(frame, now, late)

    def _find_running(self, outermost: FrameType) -> Tuple[int, Optional[CountedGroup]]:
        """Return the ``id`` and the group of the greenlet that runs; 0 if it is not known."""
        is_active = sys.modules["greenlet"].greenlet.__bool__
        likely = COUNTS.groups.get(id(outermost.f_code))
        groups = [one for one in list(COUNTS.groups.values()) if one.members and one is not likely]
        left, hub = MAX_SEARCHED, self._hub()
        for group in [likely, *groups] if likely is not None else groups:
            for reference in list(group.members):
                greenlet = reference()
                runs = greenlet is not None and greenlet.gr_frame is None and is_active(greenlet)
                if runs and greenlet.parent is hub:
                    return id(greenlet), COUNTS.moved_to(greenlet) or group
                left -= 1
                if not left:
                    return 0, None
        return 0, None

    def task(self) -> Tuple[int, Optional[CountedGroup]]:
        """Return the ``id`` and the group of the greenlet that ran when the last sample was taken."""
        return self._running

    def stop(self) -> None:
        """Stop the heartbeat; its timer closes itself in the hub."""
        super().stop()
        TRIO.pop(id(self), None)

    @guarded(LOOPS)
    def _close(self) -> None:
        self.stop()
        try:
            self._timer.stop()
            self._timer.close()
        except ValueError:  # the loop has been destroyed
            pass
        HUBS.closed()


class Hubs:
    """The hubs that have a heartbeat."""

    def __init__(self) -> None:
        self.closed: Callable[[], None] = lambda: None
        """Called in a hub when its heartbeat has been stopped."""

    @guarded(LOOPS)
    def add(self, hub: Any) -> None:
        """Add a heartbeat to a hub, in its thread, unless it has one. Never raises."""
        beats = [beat for beat in list(TRIO.values()) if isinstance(beat, HubHeartbeat)]
        if _is_open(hub) and not any(beat.is_of(hub) for beat in beats):
            beat = HubHeartbeat(hub)
            TRIO[id(beat)] = beat

    def add_later(self, hub: Any) -> None:
        """Make a hub add a heartbeat, from any thread."""
        if not _is_open(hub):
            return
        if hub.thread_ident == get_ident():
            self.add(hub)
        else:
            hub.loop.run_callback_threadsafe(self.add, hub)


def _is_open(hub: Any) -> bool:
    """Return whether the parent of a greenlet is a hub that has not been destroyed."""
    return hasattr(hub, "thread_ident") and hub.loop is not None


HUBS = Hubs()
"""The hubs of this process."""
