"""The event log on screen: the newest at the bottom, scrolled to unless somebody reads further up."""

from collections.abc import Iterable, Mapping

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.lab.events import Event, Weight
from concwatch.units import format_clock

SHOWN = 200
"""Events kept on screen."""

STYLES: Mapping[Weight, str] = {"info": "", "warning": "$warning", "error": "$error"}


class EventView(VerticalScroll):
    """Shows what happened, a line an event, tracebacks below theirs."""

    DEFAULT_CSS = """
    EventView {
        height: 6;
        border: round $foreground 25%;
        border-title-color: $foreground;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-color: $foreground 20%;
        scrollbar-background: $background;
        /* Never shorter than the view, which Textual would put at the view's lower end. */
        & Static { height: auto; min-height: 100%; }
        &:focus { border: round $accent; }
    }
    """

    BORDER_TITLE = "events"

    def compose(self) -> ComposeResult:
        """One block of text."""
        yield Static(Content.styled("what happens is told here", "$foreground 45%"))

    def on_mount(self) -> None:
        """Stay at the end, as long as nobody scrolls up."""
        self.anchor()

    def show(self, events: Iterable[Event], colors: Mapping[str, str]) -> None:
        """Show the last of ``events``; ``colors`` gives ``#rrggbb`` by lane."""
        lines = [
            Content.assemble(
                (f"{format_clock(event.time)}  ", "$foreground 45%"),
                (f"{event.lane or 'all':10}", colors.get(event.lane, "$foreground 70%")),
                (event.text, STYLES[event.weight]),
            )
            for event in list(events)[-SHOWN:]
        ]
        if lines:
            self.query_one(Static).update(Content("\n").join(lines))
