"""What is counted for one monitor: ticks, scans in short turns, groups, and the commands that are obeyed."""

from __future__ import annotations

from time import monotonic, thread_time

from .connection import Lost
from .counting import COUNTS
from .figures import Figures, Tracing
from .hooks import HOOKS
from .process import flags, identity, name
from .report import Groups, tick
from .scan import LINKED, Scan, Tasks, see_running_loops
from .waits import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional

    from .connection import Connection

SLOWEST, FASTEST = 0.1, 10.0

SHARE = 0.008
"""Of the process's time: one per cent, with what it takes to wake up."""

ASKED_SHARE = 0.1
"""Of the process's time, while somebody waits for what was asked for."""

MOST_ASKED = 10

HURRY = 0.002
"""Seconds between two turns of a scan that holds tasks."""

LONGEST_PAUSE = 0.015
"""Seconds that the program may stand still more often than once in `SELDOM`."""

SELDOM = 60.0

COMMANDS_EVERY = 0.1
"""Seconds between two looks for a command, at most."""

LAST_PATIENCE = 1.0
"""Seconds that the last scan and the last reports may take when the process ends."""


class Session:
    """Counts for one monitor, over one connection or, where the program closes it, several in turn."""

    def __init__(self) -> None:
        """Begin to count; what is there now is older than the agent."""
        COUNTS.clear()
        see_running_loops()
        older = Tasks()
        HOOKS.put()
        self._figures, self._tracing = Figures(), Tracing()
        self._figures.collector.put()
        self._scan = Scan()
        self._turns: Optional[Iterator[None]] = self._scan.older(older)
        self._asked: List[Iterator[None]] = []
        self._interval = 1 / FASTEST
        self._number = 0
        self._tick_due = self._scan_due = self._turn_due = monotonic()
        self._tick_cost = 0.0
        self._pause_reported = False
        self._commands: Dict[str, Callable[[Dict[str, Any]], Optional[bool]]] = {
            "rate": self._set_rate,
            "waits": self._look,
            "outcomes": lambda fields: HOOKS.set_outcomes(_flag(fields, "on")),
            "trace": lambda fields: self._tracing.set(_flag(fields, "on")),
            "lines": self._lines,
            "detach": self._detach,
        }

    def greet(self, connection: Connection) -> None:
        """Report over ``connection`` from now on, and say who this is."""
        self._connection = connection
        self._groups = Groups()
        self._known = {"name": name(), "flags": flags()}
        self._tick_due = monotonic()
        connection.send("ready", **identity(), **self._known, can=list(self._commands), workloads=[])

    def step(self) -> float:
        """Do what is due, and return the seconds until something is; raises `Lost`."""
        began, now = thread_time(), monotonic()
        self._obey()
        if now >= self._turn_due or self._hurry:
            self._turn(now)
        if now >= self._tick_due:
            self._tick_due = now + self._interval
            if not self._connection.behind:
                self._tick(now)
        self._connection.flush()
        # The next turn comes when the time that was used is the agent's share.
        share = ASKED_SHARE if self._asked else SHARE
        self._turn_due = max(self._turn_due, monotonic()) + (thread_time() - began) / share
        due = self._tick_due
        if self._hurry:
            due = monotonic() + HURRY
        elif self._turns is not None or self._asked:
            due = min(due, self._turn_due)
        return min(COMMANDS_EVERY, max(0.0005, due - monotonic()))

    @property
    def _hurry(self) -> bool:
        return self._turns is not None and self._scan.hurry

    def _turn(self, now: float) -> None:
        """Go on with what was asked for, or else with a scan."""
        if self._asked:
            if _ends(self._asked[0]):
                del self._asked[0]
            return
        if self._turns is None and now >= self._scan_due:
            HOOKS.look()
            self._scan_due = now + self._interval
            self._turns = self._scan.next()
        if self._turns is not None and _ends(self._turns):
            self._turns = None
            if not self._connection.behind:
                self._send_groups(now)
            if LINKED and self._scan.pause > LONGEST_PAUSE:
                self._scan_due = now + SELDOM
                self._report_pause()

    def _report_pause(self) -> None:
        if not self._pause_reported:
            self._pause_reported = True
            self._send_error(
                None,
                "with so many tasks they are counted once a minute: this Python lists them all at once, "
                f"and the program stands still for {self._scan.pause * 1000:.0f} ms",
            )

    def _send_error(self, command: Optional[str], message: str) -> None:
        self._connection.send("error", command=command, message=message, detail=None)

    def _tick(self, now: float) -> None:
        began = thread_time()
        self._number += 1
        fields = tick(self._number, self._scan, self._figures, HOOKS.outcomes)
        known = {"name": name(), "flags": flags()}
        fields.update({key: value for key, value in known.items() if self._known[key] != value})
        self._known = known
        self._connection.send("tick", **fields)
        self._tick_cost = 0.8 * self._tick_cost + 0.2 * (thread_time() - began)
        # Never catch up; and a process with thousands of threads and groups is asked less often.
        self._tick_due = now + max(self._interval, self._tick_cost / (SHARE / 2))

    def _send_groups(self, now: float, last: bool = False) -> None:
        report = self._groups.report(now, self._scan, HOOKS.outcomes, last)
        if report is not None:
            self._connection.send("groups", **report)

    def _obey(self) -> None:
        """Carry out the commands that have come, and answer each."""
        for fields, problem in self._connection.commands():
            arrived = monotonic()
            command = None if fields is None else fields["type"][:60]
            try:
                if fields is None:
                    raise ValueError(problem)
                act = self._commands.get(fields["type"])
                if act is None:
                    known = ", ".join(self._commands)
                    raise ValueError(f'unknown command "{command}": expected one of {known}')
                if not act(fields):
                    seconds = monotonic() - arrived
                    self._connection.send("applied", command=command, seconds=seconds, flags=flags())
            except Lost:
                raise
            except Exception as error:
                self._send_error(command, " ".join(str(error).split())[:1000] or type(error).__name__)

    # Each command returns whether its own report answers it.

    def _set_rate(self, fields: Dict[str, Any]) -> None:
        hz = fields.get("hz")
        if isinstance(hz, bool) or not isinstance(hz, (int, float)) or not SLOWEST <= hz <= FASTEST:
            raise ValueError(f'"hz" is {hz!r}: expected ticks a second from {SLOWEST} to {FASTEST:.0f}')
        self._interval = 1 / hz
        self._tick_due = self._scan_due = monotonic()

    def _look(self, fields: Dict[str, Any]) -> bool:
        wanted = fields.get("group")
        group = next((one for one in list(COUNTS.groups.values()) if one.number == wanted), None)
        if group is None:
            raise ValueError(f'"group" is {wanted!r}: expected the number of a group that was reported')
        if len(self._asked) >= MOST_ASKED:
            raise ValueError(f"{MOST_ASKED} are being looked up already")
        self._asked.append(look(group, lambda found: self._connection.send("waits", **found)))
        return True

    def _lines(self, fields: Dict[str, Any]) -> bool:
        self._connection.send("lines", lines=self._tracing.lines())
        return True

    def _detach(self, fields: Dict[str, Any]) -> bool:
        raise Lost

    def finish(self) -> None:
        """Send the last figures of a process that ends."""
        connection = self._connection
        connection.patience = LAST_PATIENCE
        until = monotonic() + LAST_PATIENCE
        for turns in (self._turns, self._scan.next(), self._scan.next()):  # two: see `Group.uncounted`
            for _ in turns or ():
                if monotonic() > until:
                    break
        connection.send("tick", **tick(self._number + 1, self._scan, self._figures, HOOKS.outcomes))
        self._send_groups(monotonic(), last=True)
        connection.send("end")
        connection.flush()

    def close(self) -> None:
        """Take everything back that counts."""
        HOOKS.take_back()
        self._figures.collector.take_back()
        try:
            self._tracing.set(False)
        except Exception:
            pass
        COUNTS.clear()


def _ends(turns: Iterator[None]) -> bool:
    """Take one turn; return whether it was the last."""
    for _ in turns:
        return False
    return True


def _flag(fields: Dict[str, Any], key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ValueError(f'"{key}" is {value!r}: expected true or false')
    return value
