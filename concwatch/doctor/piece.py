"""A piece of a printed row."""

from msgspec import Struct


class Piece(Struct, frozen=True):
    """Text, and how it is meant.

    As `heading`, `good`, `doubt`, `bad`, `quiet`, `copy` (a command), or as nothing particular.
    """

    text: str
    tone: str = ""
