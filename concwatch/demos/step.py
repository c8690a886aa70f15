"""A step of a demo: what each kind has in common."""

from collections.abc import Collection, Iterable
from typing import ClassVar

import msgspec

from concwatch.demos.hands import Hands
from concwatch.demos.takes import Takes


class Stage(msgspec.Struct, frozen=True):
    """What a step can use."""

    hands: Hands
    takes: Takes


class Step(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One thing that a person does, sees or says; its first key is its kind's name."""

    caption_said: ClassVar[bool] = False
    """Whether it says what one sees."""

    @property
    def told(self) -> str:
        """Say in one line what it does, the same in every run."""
        raise NotImplementedError

    def problems(self, lanes: Collection[str]) -> Iterable[str]:
        """Say what is wrong beyond types, each as one line."""
        return ()

    async def do(self, stage: Stage) -> None:
        """Do it.

        Raises:
            StepFailed: it could not be done.
        """
        raise NotImplementedError
