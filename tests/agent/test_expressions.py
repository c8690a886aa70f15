"""Expressions are read from the code of a function, and evaluated without running it."""

import sys
from types import SimpleNamespace

import pytest

from concwatch.portable.agent.waiting.deadlocks import _Code
from concwatch.portable.agent.waiting.expressions import text_of, value_of


class Slots:
    __slots__ = ("lock",)

    def __init__(self):
        self.lock = "of a slot"


class Refuses(dict):
    """A dictionary whose methods must not be called."""

    def __getitem__(self, key):
        raise AssertionError("code of the program was run")


class Child(SimpleNamespace):
    """A class whose code uses ``super``."""

    def frame(self):
        with super().table:
            pass


table, seat, other, slots = Refuses({"x": SimpleNamespace(lock="deep"), 7: "seven"}), 3, 5, Slots()
forks = ["zero", "one", "two", "three"]
WRITTEN = {
    "forks[seat]": "three",
    "forks[(seat + 1) % 4]": "zero",
    "forks[other % (seat - 1)]": "one",
    "forks[other - (seat - 1)]": "three",
    "forks[-1]": "three",
    "table['x'].lock": "deep",
    "table[other + 2]": "seven",
    "slots.lock": "of a slot",
}
UNKNOWN = [
    *("find(seat)", "find(seat).lock", "forks[find(seat)]", "[table][0]", "table[slots]", "forks[seat * 1]"),
    *("forks[other]", "seat[0]", "slots.none", "nowhere"),
]


def waits_in(code):
    """Return what the one ``with`` statement in a function waits for."""
    (expression,) = _Code(code).waits.values()
    return expression


@pytest.mark.parametrize("text", WRITTEN)
def test_an_expression_has_its_text_and_its_value(text):
    namespace = {}
    exec(f"def function():\n    with {text}: pass\n", namespace)
    expression = waits_in(namespace["function"].__code__)
    assert text_of(expression) == text
    assert value_of(sys._getframe(), expression) == WRITTEN[text]


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_only_running_code_would_tell_or_is_not_there_is_not_known(text):
    namespace = {}
    exec(f"def function():\n    with {text}: pass\n", namespace)
    assert value_of(sys._getframe(), waits_in(namespace["function"].__code__)) is None


def test_an_attribute_of_super_is_not_taken_for_a_variable():
    assert value_of(sys._getframe(), waits_in(Child.frame.__code__)) is None
