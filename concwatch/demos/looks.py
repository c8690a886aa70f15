"""Steps in which a person waits, says what one sees, or takes a picture."""

import re
from collections.abc import Collection, Iterable
from typing import ClassVar

from concwatch.demos.conditions import Condition, parse_condition
from concwatch.demos.problem import StepFailed
from concwatch.demos.step import Stage, Step, text_problem
from concwatch.units import format_seconds

LIMIT = 30.0
"""Seconds that a condition gets unless its step says otherwise."""

LONGEST_LIMIT = 3_600.0

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""What demos and shots can be called."""

FAILED = "failed"
"""The last picture of a demo that fails."""


class Wait(Step, frozen=True):
    """Wait until something holds."""

    wait: str
    limit: float = LIMIT
    """Seconds that it gets."""
    example: ClassVar[str] = 'wait = "asyncio.live >= 10k"'

    @property
    def told(self) -> str:
        """Say it."""
        return f"wait until {' '.join(self.wait.split())}"

    def _condition(self, lanes: Collection[str]) -> Condition:
        return parse_condition(self.wait, lanes)

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lanes that the condition is about."""
        return self._condition(lanes).about

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say which conditions there are."""
        self._condition(lanes)
        if not 0 < self.limit <= LONGEST_LIMIT:
            yield f'key "limit": {self.limit:g}: expected seconds from 0 to {LONGEST_LIMIT:,.0f}'

    async def do(self, stage: Stage) -> None:
        """Wait."""
        scene = stage.hands.scene
        condition = self._condition([lane.engine.name for lane in scene.lab.lanes])
        await stage.hands.until(lambda: condition.holds(scene) or condition.hopeless(scene), self.limit)
        if condition.holds(scene):
            return
        for lane in condition.about:
            stage.hands.must_run(lane)
        when = "not any more" if condition.hopeless(scene) else f"not within {format_seconds(self.limit)}"
        raise StepFailed(f"{when}; seen instead: {condition.seen(scene)}")


class Caption(Step, frozen=True):
    """Say what one sees, on the screen and in print."""

    caption: str
    example: ClassVar[str] = 'caption = "Ten thousand tasks"'
    caption_said: ClassVar[bool] = True

    @property
    def told(self) -> str:
        """Say it."""
        return f"caption: {self._text}"

    @property
    def _text(self) -> str:
        return " ".join(self.caption.split())

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say what cannot be shown."""
        yield from text_problem(self.caption)

    async def do(self, stage: Stage) -> None:
        """Show it."""
        await stage.hands.say(self._text)


class Shot(Step, frozen=True):
    """Take a picture of the screen."""

    shot: str
    example: ClassVar[str] = 'shot = "held"'

    @property
    def told(self) -> str:
        """Say it."""
        return f"shot {self.shot}"

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say what a file can be called."""
        if not NAME.fullmatch(self.shot):
            yield f'"{self.shot}": expected small letters, digits and hyphens'
        elif self.shot == FAILED:
            yield f'"{FAILED}" is what the last picture of a demo that fails is called: expected another name'

    async def do(self, stage: Stage) -> None:
        """Keep it."""
        await stage.hands.look()
        stage.takes.take_shot(self.shot, stage.hands.app)
