"""Options without a value of their own, in whose absence something usual holds."""

from collections.abc import Sequence
from typing import Any

import click


class UsualOption(click.Option):
    """An option that says in words what holds where nobody sets it.

    Args:
        usual: those words, which its help and ``concwatch settings`` show.
    """

    def __init__(self, names: Sequence[str], *, usual: str, help: str, **more: Any) -> None:
        super().__init__(names, help=f"{help}  [default: {usual}]", **more)
        self.usual = usual
