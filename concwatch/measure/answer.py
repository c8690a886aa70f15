"""What a task costs and how many the machine holds, in one sentence."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from concwatch.monitor.metrics.metric import Caveat, marks_of
from concwatch.monitor.metrics.metrics import BY_NAME, KEPT, LaneSnapshot, known_cost
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.unit import RATIO
from concwatch.portable.protocol.units import format_bytes, format_count, format_short

LEAST = 100
"""Tasks that must have been live before their cost is shown."""

REACHED = 0.95
"""Share of the target that must be live: while tasks are created, the metrics still move."""

NOUNS = {
    "threads": "thread",
    "pool": "pool job",
    "gevent": "greenlet",
    "go": "goroutine",
    "interpreters": "interpreter job",
    "sequential": "call",
    "rust-threads": "Rust thread",
    "java-threads": "Java thread",
    "java-virtual": "virtual thread",
}
"""Engine → the name of one task, where that is not the engine's name and "task"."""

COST, FITS = BY_NAME["memory_per_task"], BY_NAME["fits"]

Known = tuple[float, int, tuple[Caveat, ...], str, bool]
"""The bytes of a task, how many fit, what makes the first uncertain, the marks of the second, and whether it
is a lane of this machine."""


def noun(engine: str, ending: str = "") -> str:
    """Return the name of one task of an engine, or of several: ``thread``, ``asyncio@3.12 tasks``."""
    own, at, version = engine.partition("@")
    return f"{NOUNS[own]}{ending}{at}{version}" if own in NOUNS else f"{engine} task{ending}"


class Answer:
    """The sentence for the lanes of one screen, about two of them: those that the user chose, or the dearest
    and the cheapest. Its figures are those of the table, and those of a lane that is off stay.
    """

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._time = -math.inf
        self.chosen: tuple[str, ...] = ()
        """The names of the engines that the user has chosen, at most two, the last one last."""

    def update(self, view: Snapshot) -> Sequence[str]:
        """Return the sentence in up to three lengths, the longest first; none while nothing is known."""
        if view.time < self._time:  # a replay that has gone back
            self.clear()
        self._time = view.time
        self._known |= {lane.own_name: known for lane in reversed(view.lanes) if (known := _known(lane))}
        return sentences(self._known, self.chosen)

    def choose(self, name: str) -> None:
        """Compare an engine, with the one that was chosen before it; no longer if it is chosen already."""
        others = tuple(other for other in self.chosen if other != name)
        self.chosen = others if name in self.chosen else (*others[-1:], name)

    def next(self, by: int) -> None:
        """Compare the next (1) or previous (-1) two engines; the first are the dearest and the cheapest."""
        if len(self._known) > 2:
            first, now = _pair(self._known, ()), _pair(self._known, self.chosen)
            pairs = sorted(combinations(_by_cost(self._known), 2), key=lambda pair: pair != first)
            self.chosen = pairs[(pairs.index(now) + by) % len(pairs)]

    def clear(self) -> None:
        """Forget all metrics, since the settings have changed."""
        self._known.clear()


def _known(lane: LaneSnapshot) -> Known | None:
    """Return the metrics of a lane that holds its tasks; None if they are not known."""
    value, live = known_cost(lane), lane.sample.measured_live or 0
    holds = lane.on and lane.status.target and lane.live >= lane.status.target * REACHED
    if not (value and holds and live >= max(LEAST, REACHED * lane.live)) or KEPT.holds(lane):
        return None
    here = not lane.engine.host and lane.own_name == lane.name  # not folded over several hosts
    fits = lane.status.fits if lane.status.fits_limit else 0
    return value, fits, COST.uncertain(lane), FITS.marks(lane), here


def _by_cost(known: Mapping[str, Known]) -> list[str]:
    """Return the names of the lanes, the dearest first."""
    return sorted(known, key=lambda name: -known[name][0])


def _pair(known: Mapping[str, Known], chosen: Sequence[str]) -> tuple[str, str]:
    """Return the dearer and the cheaper of the chosen lanes; with one, that and the cheapest, or dearest."""
    order = _by_cost(known)
    found = [name for name in order if name in chosen]
    if len(found) == 1:
        found = [found[0], order[-1]] if found[0] != order[-1] else [order[0], found[0]]
    return (found[0], found[-1]) if found else (order[0], order[-1])


def sentences(known: Mapping[str, Known], chosen: Sequence[str] = ()) -> Sequence[str]:
    """Return the sentence for lanes by name: one beside a cheaper one, and how many of each fit."""
    if not known:
        return ()
    dear, cheap = _pair(known, chosen)
    marks = marks_of((*known[dear][2], *known[cheap][2]))
    if dear == cheap:
        ratio = f"1 {noun(dear)} takes {format_bytes(known[dear][0])}{marks}"
    else:
        number = RATIO.format(known[dear][0] / known[cheap][0]).removesuffix(" ×")
        ratio = f"1 {noun(dear)} = {number} {noun(cheap, 's')}{marks}"
    fitting = [
        f"{format_fitting(known[name][1])}{known[name][3]} {noun(name, 's')}"
        for name in dict.fromkeys((dear, cheap))
        if known[name][1] and known[name][4]
    ]
    if not fitting:
        return (ratio,)
    memory = f"memory of {ratio}" if dear != cheap else ratio
    return f"{memory} · room for {' or '.join(fitting)}", f"{ratio} · {', '.join(fitting)} fit", ratio


def format_fitting(tasks: int) -> str:
    """Return how many tasks fit, as text."""
    return format_count(tasks) if tasks < 100_000 else format_short(tasks)
