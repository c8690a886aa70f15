"""The settings that all lanes share: workload, refill, tracing, collector, pool threads."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.content import Content

from concwatch.monitor.metrics.settings import describe
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_count
from concwatch.portable.worker.threads import default_threads
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, call


class SettingRow(Struct, frozen=True):
    """One setting: the key that changes it, its label, and its text."""

    key: str
    label: str
    text: Callable[[Snapshot], Content]
    short_text: Callable[[Snapshot], Content] | None = None
    """The text, without label, where several settings share a line; None to use label and `text`."""


def _switch(on: bool) -> Content:
    return Content.styled("● on", "$success") if on else Content.styled("○ off", "$dim")


ROWS = (
    SettingRow(
        "w", "each task",
        lambda view: Content.styled(f"{describe(view.settings.workload)} ▾", "bold"),
        lambda view: Content.styled(f"{view.settings.workload} ▾", "bold"),
    ),
    SettingRow("f", "refill", lambda view: _switch(view.settings.refill)),
    SettingRow("t", "traced", lambda view: _switch(view.settings.trace)),
    SettingRow("g", "collector", lambda view: Content.styled(
        view.settings.gc, "" if view.settings.gc == "default" else "$warning"
    )),
    SettingRow("0", "", lambda view: Content.styled(" stop all ", "$foreground on $panel")),
    SettingRow("n", "pool", lambda view: Content(
        f"{format_count(view.settings.threads or default_threads())} threads"
    )),
)  # fmt: skip
"""The settings from top to bottom. A click presses the key."""

LABEL = "$dim"
KEY = "$accent"


class CommonPanel(ClickableLines):
    """Shows the settings. A click on one presses its key."""

    DEFAULT_CSS = """
    CommonPanel {
        height: 6;
        padding: 0 0 0 1;
    }
    """

    _view: Snapshot | None = None

    def __init__(self, press: Callable[[str], object]) -> None:
        """Create the panel; ``press`` is called with the key of a setting that is clicked."""
        super().__init__()
        self._press = press

    def show(self, view: Snapshot) -> None:
        """Show the current settings."""
        before, self._view = self._view, view
        if before is None or before.settings != view.settings:
            self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return one setting a line, or several if the panel has fewer lines."""
        view, height = self._view, self.outer_size.height
        if view is None:
            return ()
        if height >= len(ROWS):
            return [(Cell(width, self._line(row, view, width), call(self._press, row.key)),) for row in ROWS]
        lines: list[list[Cell]] = [[]]
        left = width
        for row in ROWS:
            label = f"{row.label} " if row.label and not row.short_text else ""
            value = self._as_button((row.short_text or row.text)(view), row)
            text = Content.assemble((f"{row.key} ", KEY), (label, LABEL), value)
            left -= 1 + text.cell_length
            if left < 0:
                if len(lines) == height:
                    break
                lines.append([])
                left = width - 1 - text.cell_length
            lines[-1] += (Cell(1), Cell(text.cell_length, text, call(self._press, row.key)))
        return lines

    def _line(self, row: SettingRow, view: Snapshot, width: int) -> Content:
        note = ("  RSS doubles", "$warning") if row.key == "t" and view.settings.trace else ""
        label = f"{row.label:11}" if row.label else ""
        text = Content.assemble(
            (f"{row.key} ", KEY), (label, LABEL), self._as_button(row.text(view), row), note
        )
        return text.truncate(max(0, width - 2), ellipsis=True).pad(1, 1)

    def _as_button(self, text: Content, row: SettingRow) -> Content:
        """Make a text without label look like a button, also in a theme whose panel has no colour."""
        colors = self.app.theme_variables
        return text if row.label or colors["panel"] != colors["background"] else text.stylize("reverse")
