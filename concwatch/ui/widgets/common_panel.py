"""What all lanes have in common: what each task does, refill, tracing, collector."""

from collections.abc import Callable

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from concwatch.lab.view import LabView
from concwatch.ui.widgets.phrase import Tap
from concwatch.units import format_count
from concwatch.worker.engines.pool import default_threads


class Row(Struct, frozen=True):
    """One setting: its label, a short one, the screen's action that changes it, and how it is shown."""

    label: str
    short: str
    action: str
    shown: Callable[[LabView], Content]


def _switch(on: bool) -> Content:
    return Content.styled("● on", "$success") if on else Content.styled("○ off", "$foreground 55%")


def _collector(view: LabView) -> Content:
    mode = view.settings.gc
    return Content.styled(mode, "" if mode == "default" else "$warning")


def _pool(view: LabView) -> Content:
    return Content(f"{format_count(view.settings.threads or default_threads())} threads")


ROWS = (
    Row("each task", "", "workload", lambda view: Content.styled(f"{view.settings.workload} ▾", "bold")),
    Row("refill", "refill ", "refill", lambda view: _switch(view.settings.refill)),
    Row("traced", "traced ", "trace", lambda view: _switch(view.settings.trace)),
    Row("collector", "collector ", "collector", _collector),
    Row("stop", "stop ", "stop_all", lambda view: Content.styled("all", "")),
    Row("pool", "pool ", "threads", _pool),
)
"""The settings, from the top; a click does what its key does."""


class CommonPanel(Container):
    """Shows the settings; a click on one runs the screen's action for it."""

    DEFAULT_CSS = """
    CommonPanel {
        height: auto;
        padding: 0 1;
        & Tap { height: 1; padding: 0 1; }
    }
    """

    def compose(self) -> ComposeResult:
        """One line a setting."""
        for row in ROWS:
            yield Tap(id=f"set-{row.action.replace('_', '-')}")

    def show(self, view: LabView) -> None:
        """Show the settings as they are now."""
        narrow = self.screen.has_class("-narrow")
        for row in ROWS:
            label = row.short if narrow else f"{row.label:11}"
            tap = self.query_one(f"#set-{row.action.replace('_', '-')}", Tap)
            note = (
                ("  RSS ≈ ×2", "$warning")
                if row.action == "trace" and view.settings.trace and not narrow
                else ""
            )
            tap.say(Content.assemble((label, "$foreground 55%"), row.shown(view), note))

    async def on_tap_tapped(self, event: Tap.Tapped) -> None:
        """Run the action of the row that was clicked."""
        event.stop()
        action = (event.tap.id or "").removeprefix("set-").replace("-", "_")
        await self.run_action(f"screen.{action}")
