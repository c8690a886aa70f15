"""The kinds of steps: data."""

import msgspec

from concwatch.demos.acts import (
    Answer,
    Choice,
    Click,
    Drag,
    Number,
    Place,
    Press,
    Reply,
    Run,
    Switch,
    Text,
    Theme,
    Type,
    Workload,
)
from concwatch.demos.looks import Caption, Shot, Wait
from concwatch.demos.step import Step

KINDS: dict[str, type[Step]] = {
    "switch": Switch,
    "drag": Drag,
    "type": Type,
    "press": Press,
    "click": Click,
    "workload": Workload,
    "answer": Answer,
    "theme": Theme,
    "wait": Wait,
    "caption": Caption,
    "shot": Shot,
    "experiment": Run,
}
"""A step's kind by the key that names it."""

TABLES: dict[str, type[msgspec.Struct]] = {
    "drag": Place,
    "type": Number,
    "click": Text,
    "answer": Reply,
    "experiment": Choice,
}
"""What stands behind the key of a kind, where that is a table."""
