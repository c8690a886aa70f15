"""The dialog that asks before more tasks are started than will fit."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Label, OptionList

from concwatch.monitor.lanes.forecast import MARGIN, Forecast
from concwatch.portable.protocol.units import format_count, format_percent
from concwatch.system.memory import BUDGET, RESERVED
from concwatch.ui.base.base_screen import is_exiting
from concwatch.ui.base.dialog import Dialog, choice_list

ESTIMATED = f"\nNot measured here yet: {format_percent(MARGIN - 1)} is added to the typical figure."


def _consequence(forecast: Forecast) -> str:
    """Return what happens if tasks that will not fit are started anyway."""
    if forecast.memory and forecast.limit != BUDGET:
        return f"the lane is stopped at {format_percent(1 - RESERVED)} of the memory"
    return "growth stops at the limit; no task ends"


class FitDialog(Dialog[int]):
    """Shows why a target will not fit and asks how many tasks to start."""

    DEFAULT_CSS = """
    FitDialog {
        & > Vertical { border: round $warning; border-title-color: $warning; }
        & #message { margin-bottom: 1; }
    }
    """

    def __init__(self, name: str, forecast: Forecast, target: int) -> None:
        """Create the dialog.

        Args:
            name: the lane's name.
            forecast: of the requested target, which does not fit.
            target: the lane's current target.
        """
        super().__init__()
        self._lane = name
        self._forecast = forecast
        self._answers: list[int | None] = [forecast.tasks, None]
        self._choices = [
            (f"start {format_count(forecast.tasks)}", _consequence(forecast)),
            ("cancel", f"the target stays at {format_count(target)}"),
        ]
        if forecast.fitting > target:
            self._answers.insert(0, forecast.fitting)
            self._choices.insert(0, (f"start {format_count(forecast.fitting)}", "as many as fit"))

    @property
    def reason(self) -> str:
        """Why the target will not fit, in a sentence."""
        why = self._forecast.why()
        return f"{why[0].upper()}{why[1:]}."

    def compose(self) -> ComposeResult:
        """Create the reason and the choices."""
        estimated = self._forecast.memory and not self._forecast.measured
        with Vertical() as box:
            box.border_title = f"{self._lane}: {format_count(self._forecast.tasks)} tasks will not fit"
            yield Label(Content.assemble(self.reason, (ESTIMATED if estimated else "", "$dim")), id="message")
            yield choice_list(self._choices)

    def on_mount(self) -> None:
        """Highlight the safe choice: as many as fit, else cancel."""
        if is_exiting(self.app):
            return
        choices = self.query_one(OptionList)
        choices.highlighted = 0 if len(self._answers) > 2 else 1
        choices.focus()

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._answers[event.option_index])
