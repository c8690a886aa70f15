"""How many tasks fit."""

from msgspec import Struct


class Fit(Struct, frozen=True):
    """How many tasks fit, and the first limit."""

    tasks: int
    limit: str
    forecast: bool = False
    """Whether memory is the limit, and what a task takes of it was not measured on this machine."""
