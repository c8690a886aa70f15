"""The question before more tasks are started than will fit."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Label, OptionList

from concwatch.lab.forecast import MARGIN, Forecast
from concwatch.system.memory import BUDGET, RESERVED
from concwatch.ui.screens.base import is_ending
from concwatch.ui.screens.dialog import Dialog, choice_list
from concwatch.units import format_count, format_percent

GUESSED = f"\nNot measured here yet: {format_percent(MARGIN - 1)} more than usual is counted."


def _what_happens(found: Forecast) -> str:
    """Return what becomes of tasks that will not fit, if they are started all the same."""
    if found.memory and found.wall != BUDGET:
        return f"the lane is stopped at {format_percent(1 - RESERVED)} of the memory"
    return "growth stops there; nothing dies"


class FitDialog(Dialog[int]):
    """Says what will not fit and why, and asks how many tasks to hold all the same."""

    DEFAULT_CSS = """
    FitDialog {
        & > Vertical { border: round $warning; border-title-color: $warning; }
        & #said { margin-bottom: 1; }
    }
    """

    def __init__(self, name: str, found: Forecast, target: int) -> None:
        """Ask.

        Args:
            name: the lane's.
            found: the forecast; not all fit.
            target: what the lane is asked to hold now.
        """
        super().__init__()
        self._name = name
        self._found = found
        self._answers: list[int | None] = [found.tasks, None]
        self._choices = [
            (f"start {format_count(found.tasks)}", _what_happens(found)),
            ("cancel", f"the target stays at {format_count(target)}"),
        ]
        if found.fitting > target:
            self._answers.insert(0, found.fitting)
            self._choices.insert(0, (f"start {format_count(found.fitting)}", "as many as fit"))

    @property
    def said(self) -> str:
        """The reason, in a sentence."""
        why = self._found.why()
        return f"{why[0].upper()}{why[1:]}."

    def compose(self) -> ComposeResult:
        """Lay out the reason and the choices."""
        guessed = self._found.memory and not self._found.measured
        with Vertical() as box:
            box.border_title = f"{self._name}: {format_count(self._found.tasks)} tasks will not fit"
            yield Label(Content.assemble(self.said, (GUESSED if guessed else "", "$dim")), id="said")
            yield choice_list(self._choices)

    def on_mount(self) -> None:
        """Offer what is safe first: as many as fit, or else none more."""
        if is_ending(self.app):
            return
        choices = self.query_one(OptionList)
        choices.highlighted = 0 if len(self._answers) > 2 else 1
        choices.focus()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._answers[event.option_index])
