"""Steps in which a person does something."""

from collections.abc import Collection, Iterable
from typing import ClassVar

import msgspec

from concwatch.demos.keyboard import keys_problem
from concwatch.demos.step import Stage, Step, text_problem
from concwatch.experiments.loading import shipped
from concwatch.lab.pages import read_workload
from concwatch.ui.lanes_app import ALL_THEMES
from concwatch.ui.scale import LARGEST_TARGET, StopScale
from concwatch.units import format_count, parse_count
from concwatch.worker.workloads import nearest


class Place(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a slider is drawn to."""

    lane: str
    to: int | str


class Number(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A number for a lane."""

    lane: str
    tasks: int | str


class Text(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Something that can be read on the screen."""

    text: str
    lane: str | None = None
    """The lane on whose card it stands, or anywhere."""


class Reply(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is put into the dialog that a key opens."""

    press: str
    text: str


class Choice(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An experiment, and how it is run."""

    name: str
    quick: bool = False


def lane_problem(name: str, lanes: Collection[str]) -> Iterable[str]:
    """Say that there is no such lane."""
    if name not in lanes:
        yield f'unknown lane "{name}": expected one of {", ".join(lanes)}{nearest(name, lanes)}'


def _count(value: int | str) -> int:
    return parse_count(str(value), LARGEST_TARGET)


class Switch(Step, frozen=True):
    """Switch a lane on, or off."""

    switch: str
    example: ClassVar[str] = 'switch = "asyncio"'

    @property
    def told(self) -> str:
        """Say it."""
        return f"switch {self.switch}"

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lane."""
        return (self.switch,)

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which lanes there are."""
        yield from lane_problem(self.switch, lanes)

    async def do(self, stage: Stage) -> None:
        """Choose the lane by its number, and press space."""
        lane = stage.hands.scene.lane(self.switch)
        wanted = not lane.wanted
        stage.hands.must_run(self.switch)
        await stage.hands.choose(self.switch)
        await stage.hands.press("space")
        await stage.hands.expect(
            lambda: lane.wanted == wanted or stage.hands.scene.cannot_run(self.switch) is not None,
            f"{self.switch} switched {'on' if wanted else 'off'}",
        )
        stage.hands.must_run(self.switch)


class Drag(Step, frozen=True):
    """Draw a lane's knob to a number of tasks."""

    drag: Place
    example: ClassVar[str] = 'drag = { lane = "asyncio", to = "10k" }'

    @property
    def told(self) -> str:
        """Say it."""
        return f"drag {self.drag.lane} to {format_count(_count(self.drag.to))}"

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lane."""
        return (self.drag.lane,)

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which lanes there are, and where a slider has stops."""
        yield from lane_problem(self.drag.lane, lanes)
        stops = StopScale().stops
        if _count(self.drag.to) not in stops:
            yield (
                f'"{self.drag.to}": expected a stop of the slider, such as 1k, 2k, 5k, 10k or 1M; '
                'a step "type" sets any number'
            )

    async def do(self, stage: Stage) -> None:
        """Do it with the mouse."""
        await stage.hands.drag(self.drag.lane, _count(self.drag.to))


class Type(Step, frozen=True):
    """Type the exact number of tasks that a lane shall hold."""

    type: Number
    example: ClassVar[str] = 'type = { lane = "asyncio", tasks = 12345 }'

    @property
    def told(self) -> str:
        """Say it."""
        return f"type {format_count(_count(self.type.tasks))} for {self.type.lane}"

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lane."""
        return (self.type.lane,)

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which lanes there are, and which numbers."""
        yield from lane_problem(self.type.lane, lanes)
        _count(self.type.tasks)

    async def do(self, stage: Stage) -> None:
        """Do it with enter, the number, and enter."""
        await stage.hands.type(self.type.lane, _count(self.type.tasks))


class Press(Step, frozen=True):
    """Press keys, with blanks between them."""

    press: str
    example: ClassVar[str] = 'press = "3 + shift+right"'
    may_end: ClassVar[bool] = True

    @property
    def told(self) -> str:
        """Say it."""
        return f"press {' '.join(self.press.split())}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which key there is not."""
        yield from keys_problem(self.press.split())

    async def do(self, stage: Stage) -> None:
        """Press them."""
        await stage.hands.press(*self.press.split())


class Click(Step, frozen=True):
    """Click on what can be read on the screen."""

    click: Text | str
    example: ClassVar[str] = 'click = { text = "○ off", lane = "pool" }'
    may_end: ClassVar[bool] = True

    @property
    def _text(self) -> Text:
        return Text(self.click) if isinstance(self.click, str) else self.click

    @property
    def told(self) -> str:
        """Say it."""
        lane = f" of {self._text.lane}" if self._text.lane else ""
        return f'click "{self._text.text}"{lane}'

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lane."""
        return () if self._text.lane is None else (self._text.lane,)

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which lanes there are."""
        yield from text_problem(self._text.text)
        if not self._text.text.strip():
            yield f'"{self._text.text}": expected what can be read there'
        if self._text.lane is not None:
            yield from lane_problem(self._text.lane, lanes)

    async def do(self, stage: Stage) -> None:
        """Click."""
        await stage.hands.click(self._text.text, self._text.lane)


class Workload(Step, frozen=True):
    """Choose what each task does."""

    workload: str
    example: ClassVar[str] = 'workload = "sleep:10"'

    @property
    def told(self) -> str:
        """Say it."""
        return f"workload {self.workload}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which workloads there are."""
        read_workload(self.workload)
        return ()

    async def do(self, stage: Stage) -> None:
        """Do it in the dialog."""
        stage.hands.monitor()
        await stage.hands.answer("w", self.workload)


class Answer(Step, frozen=True):
    """Open a dialog with a key, and put something into it."""

    answer: Reply
    example: ClassVar[str] = 'answer = { press = "n", text = "64" }'

    @property
    def told(self) -> str:
        """Say it."""
        return f"answer {self.answer.press} with {self.answer.text}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which key there is not."""
        keys = self.answer.press.split()
        yield from keys_problem(keys)
        if len(keys) > 1:
            yield f'"{self.answer.press[:40]}": expected the one key that opens the dialog'
        if not self.answer.text.isprintable() or not self.answer.text:
            yield "expected a text that can be typed"

    async def do(self, stage: Stage) -> None:
        """Do it."""
        await stage.hands.answer(self.answer.press.strip(), self.answer.text)


class Theme(Step, frozen=True):
    """Take other colours."""

    theme: str
    example: ClassVar[str] = 'theme = "concwatch-light"'

    @property
    def told(self) -> str:
        """Say it."""
        return f"theme {self.theme}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which themes there are."""
        yield from theme_problem(self.theme)

    async def do(self, stage: Stage) -> None:
        """Do it."""
        stage.hands.app.theme = self.theme


def theme_problem(name: str) -> Iterable[str]:
    """Say which themes there are."""
    if name not in ALL_THEMES:
        known = sorted(ALL_THEMES)
        yield f'unknown theme "{name}": expected one of {", ".join(known)}{nearest(name, known)}'


class Run(Step, frozen=True):
    """Run an experiment."""

    experiment: Choice
    example: ClassVar[str] = 'experiment = { name = "memory-per-task", quick = true }'

    @property
    def told(self) -> str:
        """Say it."""
        return f"experiment {self.experiment.name}{', quick' if self.experiment.quick else ''}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which experiments there are."""
        names, name = [path.stem for path in shipped()], self.experiment.name
        if name not in names:
            yield f'unknown experiment "{name}": expected one of {", ".join(names)}{nearest(name, names)}'

    async def do(self, stage: Stage) -> None:
        """Open the experiments, choose it, and start it."""
        await stage.hands.run_experiment(self.experiment.name, self.experiment.quick)
