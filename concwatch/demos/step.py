"""A step of a demo: what each kind has in common."""

from collections.abc import Collection, Iterable
from typing import ClassVar

import msgspec

from concwatch.demos.hands import Hands
from concwatch.demos.takes import Takes


def text_problem(text: str) -> Iterable[str]:
    """Say that a text has characters that cannot be seen: they could command a terminal, or break an SVG."""
    hidden = next((letter for letter in " ".join(text.split()) if not letter.isprintable()), None)
    if hidden is not None:
        yield f"U+{ord(hidden):04X} in the text: expected characters that can be seen"


class Stage(msgspec.Struct, frozen=True):
    """What a step can use."""

    hands: Hands
    takes: Takes


class Step(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One thing that a person does, sees or says; its first key is its kind's name."""

    example: ClassVar[str]
    """Such a step as it stands in a file."""
    caption_said: ClassVar[bool] = False
    """Whether it says what one sees."""

    may_end: ClassVar[bool] = False
    """Whether it may end the program; the last step of a demo is done then."""

    @property
    def told(self) -> str:
        """Say in one line what it does, the same in every run."""
        raise NotImplementedError

    def about(self, lanes: Collection[str]) -> tuple[str, ...]:
        """Give the lanes that it is about."""
        return ()

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say what is wrong beyond types, each as one line."""
        return ()

    async def do(self, stage: Stage) -> None:
        """Do it.

        Raises:
            StepFailed: it could not be done.
        """
        raise NotImplementedError
