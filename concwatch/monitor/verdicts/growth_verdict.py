"""The verdict on a count that grows: it is reported as growth first, and as a leak by the `leak_rule`."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from concwatch.monitor.verdicts.events import NOWHERE, Kind, Place, Severity
from concwatch.monitor.verdicts.growth import GrowthMeter
from concwatch.monitor.verdicts.leak_rule import GracePeriod

ASK_AGAIN = 5.0
"""Seconds between two questions to the agent about growth that is not called a leak yet."""

ANSWER_TIME = 2.0
"""Seconds to wait for an answer."""

WITHDRAWALS: dict[Kind, Kind] = {
    "growth": "growth_withdrawn",
    "leak": "leak_withdrawn",
    "memory": "memory_withdrawn",
}


class GrowthEvent(NamedTuple):
    """An event about growth."""

    text: str
    severity: Severity
    kind: Kind
    updates: int = 0
    place: Place = NOWHERE


class GrowthVerdict(ABC):
    """The verdict on one count: none, then `growth`, then a leak; it is withdrawn when the growth stops."""

    leak_kind: Kind = "leak"
    """The kind of the event that calls it a leak."""

    def __init__(self) -> None:
        self.meter = GrowthMeter()
        self.verdict: Kind = ""
        """The kind of the last event; empty without a verdict."""
        self.is_answered = False
        """Whether the agent has answered the last question."""
        self.was_withdrawn = False
        """Whether a verdict was withdrawn; steady growth alone is then not enough for another one."""
        self._asked_at: float | None = None
        self._ask_due = -math.inf

    @property
    def grows(self) -> bool:
        """Whether growth was reported and not withdrawn."""
        return bool(self.verdict)

    @property
    def leaks(self) -> bool:
        """Whether a leak was reported and not withdrawn."""
        return self.verdict == self.leak_kind

    @property
    @abstractmethod
    def is_evident(self) -> bool:
        """Whether it grows so steadily that no significance test is needed."""

    @property
    def rises(self) -> bool:
        """Whether it is growing now."""
        return (self.is_evident and not self.was_withdrawn) or self.meter.leaks

    @property
    @abstractmethod
    def label(self) -> str:
        """What grows."""

    @property
    def place(self) -> Place:
        """Where in the program that is."""
        return NOWHERE

    @abstractmethod
    def text(self) -> str:
        """Return what grows, how fast, and where, as far as that is known."""

    @abstractmethod
    def grace_period(self, sockets: int) -> GracePeriod:
        """Return how long the growth must last to be called a leak.

        Args:
            sockets: by how many the sockets of the process have risen in the last two minutes.
        """

    def judge(
        self, now: float, sockets: int = 0, ask: Callable[[], object] | None = None
    ) -> GrowthEvent | None:
        """Return an event for a verdict that is new or withdrawn; None if nothing has changed.

        Args:
            now: the current time in seconds.
            sockets: by how many the sockets of the process have risen in the last two minutes.
            ask: asks the agent for what `grace_period` and `text` need; the answer sets ``is_answered``.
        """
        if self.verdict and not self.rises and self.meter.is_level:
            return self._withdraw()
        if self.verdict == self.leak_kind or not self.rises or not self._is_known(now, ask):
            return None
        grace = self.grace_period(sockets)
        if self.meter.lasting >= grace.seconds:
            self.verdict = self.leak_kind
            return GrowthEvent(f"leak: {self.text()}", "warning", self.leak_kind, place=self.place)
        if self.verdict:
            return None
        self.verdict = "growth"
        text = f"{self.text()}; too early to call it a leak: {grace.reason}"
        return GrowthEvent(text, "info", "growth", place=self.place)

    def _withdraw(self) -> GrowthEvent:
        also = ", and is no longer called a leak" if self.verdict == self.leak_kind else ""
        kind = WITHDRAWALS[self.verdict]
        self.verdict, self.was_withdrawn, self._asked_at = "", True, None
        return GrowthEvent(f"{self.label}: no longer grows{also}", "info", kind, place=self.place)

    def _is_known(self, now: float, ask: Callable[[], object] | None) -> bool:
        """Ask the agent, repeatedly; return True when it has answered, or has not answered in time."""
        if ask is None:
            return True
        if self._asked_at is None:
            if now >= self._ask_due:
                self._asked_at, self.is_answered = now, False
                ask()
            return False
        if not self.is_answered and now < self._asked_at + ANSWER_TIME:
            return False
        self._asked_at, self._ask_due = None, now + ASK_AGAIN
        return True
