"""The dialog of what measures the engines of a screen one after another: a race, or a sweep."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from textual.binding import Binding
from textual.content import Content
from textual.events import Resize

from concwatch.monitor.metrics.settings import Settings
from concwatch.ui.dialogs.help import READING, ReadDialog
from concwatch.ui.look.layout import CHART
from concwatch.ui.sources.alone import MeasuredAlone
from concwatch.ui.widgets.charts.chart import Chart

MOST_ROWS = 20
"""The maximum height of the charts in rows with their frame."""

INTERVAL = 0.25
"""Seconds between two updates."""

Shown = TypeVar("Shown", bound=MeasuredAlone)


class MeasuredDialog(ReadDialog, Generic[Shown]):
    """Shows charts and a table while engines are measured, and the result."""

    BINDINGS = [*READING, Binding("S", "app.save_chart", show=False)]

    def __init__(self, title: str, shown: Shown, rows: int, another: Callable[[], object]) -> None:
        """Create the dialog.

        Args:
            title: its title.
            shown: what measures, or has.
            rows: of the screen without the charts.
            another: asks what to measure next.
        """
        super().__init__(title, Content())
        self.shown = shown
        self._rows = rows
        self._another = another

    @property
    def settings(self) -> Settings:
        """The settings that the engines are measured with."""
        return self.shown.settings

    def said(self) -> Sequence[str]:
        """Return what has been found, for a slide."""
        return ()

    def update(self) -> None:
        """Show the current state."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Update the charts and the table until everything has been measured."""
        self.on_resize()
        self.set_interval(INTERVAL, self.update)

    def on_resize(self, _: Resize | None = None) -> None:
        """Set the height of the charts to what the table leaves; hide them if that is too little."""
        rows = min(MOST_ROWS, self.app.size.height - self._rows)
        for chart in self.query(Chart):
            chart.display = rows >= CHART
            chart.styles.height = rows
        self.call_after_refresh(self.update)

    def action_start_another(self) -> None:
        """Close this, and ask what to measure next, unless this is still running."""
        if self.shown.finished:
            self.dismiss()
            self.app.call_later(self._another)
