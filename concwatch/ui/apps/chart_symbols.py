"""The symbols that charts are drawn with, as the user chooses them."""

from collections.abc import Callable, Iterable
from typing import Any

from textual.screen import Screen

from concwatch.charts.symbols import AUTO, BRAILLE, CHOICES, Symbols, chosen_symbols
from concwatch.ui.widgets.charts.chart import Chart


class ChartSymbols:
    """The symbols of all charts of an app."""

    def __init__(self, screens: Callable[[], Iterable[Screen[Any]]], notify: Callable[[str], object]) -> None:
        """Start with the best symbols that are sure to be shown.

        Args:
            screens: returns all screens, whose charts are drawn with other symbols once these are chosen.
            notify: shows the user a text.
        """
        self._screens = screens
        self._notify = notify
        self._choice, self._best = AUTO, BRAILLE
        self.chosen = ""
        """The choice of the user; empty if the initial one is unchanged."""

    def use(self, choice: str, best: Symbols) -> None:
        """Draw charts with ``choice``, one of `CHOICES`; ``best`` are the best for the terminal."""
        self._choice, self._best = choice, best

    @property
    def drawn(self) -> Symbols:
        """The symbols that charts are drawn with."""
        return chosen_symbols(self._choice, self._best)

    def choose_next(self) -> None:
        """Draw charts with the next symbols."""
        self.choose(CHOICES[(CHOICES.index(self._choice) + 1) % len(CHOICES)])

    def choose(self, choice: str) -> None:
        """Draw charts with ``choice``, one of `CHOICES`, from now on."""
        self.chosen = self._choice = choice
        for screen in self._screens():
            for chart in screen.query(Chart):
                chart.symbols = self.drawn
        drawn = f": {self.drawn.name}" if choice == AUTO else ""
        self._notify(f"charts are drawn with {choice}{drawn}")
