"""What a demo waits for: ``asyncio.live >= 10k``, ``asyncio settled``, ``experiment done``."""

import math
import operator
import re
from collections.abc import Callable, Collection
from typing import ClassVar, Protocol

from msgspec import Struct

from concwatch.demos.figures import LAB_FIGURES, LANE_FIGURES
from concwatch.demos.scene import Scene
from concwatch.lab.lane_state import State
from concwatch.measure.units import Unit
from concwatch.ui.experiment_runs import ExperimentRuns
from concwatch.units import format_count, format_seconds, parse_count, parse_seconds
from concwatch.worker.workloads import nearest

TOTAL = "total"
"""Stands for all lanes together."""

ENOUGH = 0.95
"""Share of a lane's live tasks that a cost must have been taken of to be that of its target."""

LONGEST = 200
"""Letters of a condition."""

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


class Condition(Protocol):
    """Something that holds sooner or later."""

    @property
    def about(self) -> tuple[str, ...]:
        """The lanes that it is about."""

    def hopeless(self, scene: Scene) -> bool:
        """Tell whether what does not hold now will not do so either unless a person does something."""

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""

    def seen(self, scene: Scene) -> str:
        """Say what is so now."""


class OfLane(Struct, frozen=True):
    """What is so of a lane."""

    lane: str
    """Or `TOTAL`."""

    @property
    def about(self) -> tuple[str, ...]:
        """The lane, or none."""
        return () if self.lane == TOTAL else (self.lane,)

    def hopeless(self, scene: Scene) -> bool:
        """Tell whether the lane has failed, or cannot run here."""
        return bool(self.about) and (
            scene.lane(self.lane).state is State.FAILED or scene.cannot_run(self.lane) is not None
        )


class Compared(OfLane, frozen=True):
    """A figure of a lane, or of all together, is more or less than a value."""

    figure: str
    operator: str
    value: float

    def _now(self, scene: Scene) -> tuple[Unit, float | None]:
        if self.lane == TOTAL:
            whole = LAB_FIGURES[self.figure]
            return whole.unit, whole.of(scene.view())
        one = LANE_FIGURES[self.figure]
        return one.unit, one.of(scene.lane_view(self.lane))

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now; a figure that is not known fulfils nothing."""
        _, now = self._now(scene)
        return now is not None and math.isfinite(now) and OPERATORS[self.operator](now, self.value)

    def seen(self, scene: Scene) -> str:
        """Say what the figure is now."""
        unit, now = self._now(scene)
        aside = "" if self.lane == TOTAL else _condition_of(scene, self.lane)
        return f"{self.lane}.{self.figure} is {unit.text(now)}{aside}"


class Settled(OfLane, frozen=True):
    """A lane has reached its target, and what a task costs there is known."""

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""
        view, lane = scene.lane_view(self.lane), scene.lane(self.lane)
        target, sample = view.status.target, view.sample
        if lane.reached is None or lane.reached.target != target or sample.rss_per_task is None:
            return False
        traced = scene.view().settings.trace and "trace" in view.status.can
        return (sample.measured_live or 0) >= target * ENOUGH and view.status.tracing == traced

    def seen(self, scene: Scene) -> str:
        """Say how far the lane is."""
        view = scene.lane_view(self.lane)
        known = view.sample.rss_per_task is not None
        cost = f"cost of {format_count(view.sample.measured_live or 0)} known" if known else "cost not known"
        return f"{_progress(scene, self.lane)}, {cost}{_condition_of(scene, self.lane)}"


class Held(OfLane, frozen=True):
    """A lane has stood at its target for so many seconds of the lab's clock."""

    seconds: float

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""
        held = scene.held(self.lane)
        return held is not None and held >= self.seconds

    def seen(self, scene: Scene) -> str:
        """Say for how long."""
        held = scene.held(self.lane)
        if held is None:
            return f"{_progress(scene, self.lane)}{_condition_of(scene, self.lane)}"
        return (
            f"{self.lane} has held {format_count(scene.lane_view(self.lane).live)} for {format_seconds(held)}"
        )


class Switched(OfLane, frozen=True):
    """A lane's worker stands, or is gone."""

    on: bool

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""
        lane = scene.lane(self.lane)
        return lane.state is State.RUNNING if self.on else lane.idle

    def seen(self, scene: Scene) -> str:
        """Say what the lane is doing."""
        return f"{self.lane} is {scene.lane(self.lane).state.value}{_condition_of(scene, self.lane)}"


class Together(Struct, frozen=True):
    """Several conditions hold at the same moment."""

    parts: tuple[Condition, ...]

    @property
    def about(self) -> tuple[str, ...]:
        """The lanes of all."""
        return tuple(lane for part in self.parts for lane in part.about)

    def hopeless(self, scene: Scene) -> bool:
        """Tell whether one of those that do not hold never will."""
        return any(part.hopeless(scene) and not part.holds(scene) for part in self.parts)

    def holds(self, scene: Scene) -> bool:
        """Tell whether all hold now."""
        return all(part.holds(scene) for part in self.parts)

    def seen(self, scene: Scene) -> str:
        """Say what is so of each."""
        return "; ".join(part.seen(scene) for part in self.parts)


class Sampled(Struct, frozen=True):
    """The charts hold so many samples of the lane that has most."""

    count: int
    about: ClassVar[tuple[str, ...]] = ()

    def hopeless(self, scene: Scene) -> bool:
        """Tell that more may always come."""
        return False

    def _now(self, scene: Scene) -> int:
        return max((len(lane.series) for lane in scene.lab.lanes), default=0)

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""
        return self._now(scene) >= self.count

    def seen(self, scene: Scene) -> str:
        """Say how many there are."""
        return f"{format_count(self._now(scene))} samples"


class ExperimentDone(Struct, frozen=True):
    """The experiment that was started last has ended by itself."""

    about: ClassVar[tuple[str, ...]] = ()

    def hopeless(self, scene: Scene) -> bool:
        """Tell whether none runs any more, or has been started."""
        return scene.runs is None or scene.runs.running is None

    def holds(self, scene: Scene) -> bool:
        """Tell whether it holds now."""
        runs = scene.runs
        return runs is not None and runs.last is not None and not (runs.running or _broke_off(runs))

    def seen(self, scene: Scene) -> str:
        """Say how far it is."""
        runs = scene.runs
        if runs is None or runs.last is None:
            return "no experiment has been started"
        return runs.told or _broke_off(runs) or f"{runs.last} is done"


def _broke_off(runs: ExperimentRuns) -> str:
    """Say why the experiment that was started last did not get to its end; nothing if it did, or runs."""
    if runs.stopping:
        return f"{runs.last} was stopped"
    why = runs.problems.get(runs.last or "")
    return f"{runs.last} broke off: {why}" if why else ""


def _progress(scene: Scene, name: str) -> str:
    view = scene.lane_view(name)
    return f"{name} holds {format_count(view.live)} of {format_count(view.status.target)}"


def _condition_of(scene: Scene, name: str) -> str:
    """Say what keeps a lane from going on, if something does."""
    view = scene.lane_view(name)
    status = view.status
    if status.state is State.FAILED:
        return f" ({status.reason})"
    if status.missing and not view.on:
        return f" ({status.missing})"
    return f" (limited by {status.wall})" if status.wall else ""


_LANE = r"([\w.@-]+)"
_COMPARED = re.compile(_LANE + r"\.(\w+)\s*([<>=!]=?)\s*(.+)", re.ASCII)
_SAMPLES = re.compile(r"samples\s*>=\s*(.+)", re.ASCII)
_HELD = re.compile(_LANE + r"\s+held\s+(.+)", re.ASCII)
_STATE = re.compile(_LANE + r"\s+(settled|on|off)", re.ASCII)
_EXPERIMENT = re.compile(r"experiment\s+done", re.ASCII)

MEANINGS = {
    "LANE.FIGURE >= VALUE": "also >, <=, < and ==; the lane may be “total”",
    "LANE settled": "its target is reached, and what a task costs there is known",
    "LANE held 10s": "it has stood at its target for so long",
    "LANE on": "its worker stands",
    "LANE off": "its worker is gone",
    "samples >= 50": "the charts hold so many, ten a second",
    "experiment done": "the one started last has come to its end",
    "LANE on and LANE settled": "all of them at the same moment",
}
"""Every form, and when it holds."""

FORMS = ", ".join(f'"{form}"' for form in MEANINGS)
"""Every form, for who asks."""


def parse_condition(text: str, lanes: Collection[str]) -> Condition:
    """Read a condition.

    Args:
        text: as a person writes it.
        lanes: the names of the lanes there are.

    Raises:
        ValueError: one line that names what is wrong, and what was expected.
    """
    plain = " ".join(text.split())
    if len(plain) > LONGEST:
        raise ValueError(f'"{plain[:40]}…" is no condition: expected {FORMS}')
    parts = plain.split(" and ")
    if len(parts) > 1:
        return Together(tuple(parse_condition(part, lanes) for part in parts))
    if found := _EXPERIMENT.fullmatch(plain):
        return ExperimentDone()
    if found := _SAMPLES.fullmatch(plain):
        return Sampled(parse_count(found[1]))
    if found := _HELD.fullmatch(plain):
        return Held(_known(found[1], lanes, "lane"), parse_seconds(found[2]))
    if found := _STATE.fullmatch(plain):
        lane = _known(found[1], lanes, "lane")
        return Settled(lane) if found[2] == "settled" else Switched(lane, found[2] == "on")
    if found := _COMPARED.fullmatch(plain):
        return _compared(found[1], found[2], found[3], found[4], lanes)
    raise ValueError(f'"{plain}" is no condition: expected {FORMS}')


def _known(word: str, known: Collection[str], what: str) -> str:
    if word not in known:
        raise ValueError(f'unknown {what} "{word}": expected one of {", ".join(known)}{nearest(word, known)}')
    return word


def _compared(lane: str, figure: str, sign: str, value: str, lanes: Collection[str]) -> Compared:
    _known(lane, (*lanes, TOTAL), "lane")
    units = {name: row.unit for name, row in (LAB_FIGURES if lane == TOTAL else LANE_FIGURES).items()}
    _known(figure, units, f"figure of {lane}")
    _known(sign, OPERATORS, "sign")
    return Compared(lane, figure, sign, units[figure].parse(value))
