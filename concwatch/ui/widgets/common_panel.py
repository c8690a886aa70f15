"""What all lanes have in common: what each task does, refill, tracing, collector."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.content import Content

from concwatch.lab.settings import describe
from concwatch.lab.snapshot import Snapshot
from concwatch.ui.widgets.text_lines import Cell, ClickableLines, command
from concwatch.units import format_count
from concwatch.worker.engines import default_threads


class Row(Struct, frozen=True):
    """One setting: its key, its label, the command that changes it, and how it is shown."""

    key: str
    label: str
    action: str
    shown: Callable[[Snapshot], Content]
    brief: Callable[[Snapshot], Content] | None = None
    """How it is shown, without a label, where all settings stand in one line; None for as elsewhere."""


def _switch(on: bool) -> Content:
    return Content.styled("● on", "$success") if on else Content.styled("○ off", "$dim")


ROWS = (
    Row(
        "w", "each task", "ask_workload",
        lambda view: Content.styled(f"{describe(view.settings.workload)} ▾", "bold"),
        lambda view: Content.styled(f"{view.settings.workload} ▾", "bold"),
    ),
    Row("f", "refill", "toggle_refill", lambda view: _switch(view.settings.refill)),
    Row("t", "traced", "toggle_trace", lambda view: _switch(view.settings.trace)),
    Row("g", "collector", "next_collector", lambda view: Content.styled(
        view.settings.gc, "" if view.settings.gc == "default" else "$warning"
    )),
    Row("0", "", "stop_all", lambda view: Content.styled(" stop all ", "$foreground on $panel")),
    Row("n", "pool", "ask_threads", lambda view: Content(
        f"{format_count(view.settings.threads or default_threads())} threads"
    )),
)  # fmt: skip
"""The settings, from the top; a click does what its key does."""

LABEL = "$dim"
KEY = "$accent"


class CommonPanel(ClickableLines):
    """Shows the settings; a click on one runs the command that changes it."""

    DEFAULT_CSS = """
    CommonPanel {
        height: 6;
        padding: 0 0 0 1;
    }
    """

    _view: Snapshot | None = None

    def show(self, view: Snapshot) -> None:
        """Show the settings as they are now."""
        self._view = view
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return a setting a line, or as many in each as fit where the panel has fewer lines."""
        view, height = self._view, self.outer_size.height
        if view is None:
            return ()
        if height >= len(ROWS):
            return [(Cell(width, self._line(row, view, width), command(row.action)),) for row in ROWS]
        lines: list[list[Cell]] = [[]]
        left = width
        for row in ROWS:
            label = f"{row.label} " if row.label and not row.brief else ""
            shown = self._framed((row.brief or row.shown)(view), row)
            text = Content.assemble((f"{row.key} ", KEY), (label, LABEL), shown)
            left -= 1 + text.cell_length
            if left < 0:
                if len(lines) == height:
                    break
                lines.append([])
                left = width - 1 - text.cell_length
            lines[-1] += (Cell(1), Cell(text.cell_length, text, command(row.action)))
        return lines

    def _line(self, row: Row, view: Snapshot, width: int) -> Content:
        note = ("  RSS ≈ ×2", "$warning") if row.action == "toggle_trace" and view.settings.trace else ""
        label = f"{row.label:11}" if row.label else ""
        text = Content.assemble(
            (f"{row.key} ", KEY), (label, LABEL), self._framed(row.shown(view), row), note
        )
        return text.truncate(max(0, width - 2), ellipsis=True).pad(1, 1)

    def _framed(self, shown: Content, row: Row) -> Content:
        """Have what has no label look like a button, also where a theme has no other ground for it."""
        colors = self.app.theme_variables
        return shown if row.label or colors["panel"] != colors["background"] else shown.stylize("reverse")
