"""One lane on the left: its name, its switch, its slider, and what it holds."""

import math

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.events import DescendantFocus
from textual.reactive import reactive
from textual.widget import Widget

from concwatch.lab.lane import State
from concwatch.lab.view import LaneView
from concwatch.ui.messages import LaneSelected, LaneToggled, NumberWanted, TargetAsked, TargetMoved
from concwatch.ui.widgets.phrase import Phrase, Tap
from concwatch.ui.widgets.slider import Slider
from concwatch.units import format_bytes, format_count, format_seconds, format_short

STEP = 10_000
"""Tasks that ``+`` and ``-`` add and take."""

MARKS: dict[State, tuple[str, str]] = {
    State.OFF: ("○ off", "$foreground 45%"),
    State.STARTING: ("◌ starting", "$warning"),
    State.RUNNING: ("● on", "$success"),
    State.STALLED: ("● stalled", "$warning"),
    State.STOPPING: ("◌ stopping", "$warning"),
    State.FAILED: ("✕ failed", "$error"),
}
"""What a lane's switch shows in each state, and its colour."""


def forecast(view: LaneView, tasks: int) -> str:
    """Say what holding ``tasks`` would take: ``10,000 → about +15 MiB``."""
    size = (tasks - view.live) * view.bytes_per_task
    sign = "+" if size >= 0 else "−"
    return f"{format_count(tasks)} → about {sign}{format_bytes(abs(size))}"


def holdings(view: LaneView) -> Content:
    """Say what a lane holds, why it failed, or what to do."""
    if view.state is State.FAILED:
        return Content.styled(view.reason, "$error")
    if view.missing and not view.on:
        return Content.styled(view.missing, "$foreground 45%")
    if not view.on:
        return Content.styled("drag to start", "$foreground 45%")
    parts: list[str | tuple[str, str]] = [(f"{format_count(view.live)} live", "bold")]
    if view.limited:
        parts.append((f"  {view.limited}", "$warning"))
    elif view.queued is not None and view.live:
        parts.append((f"  {format_count(view.queued)} queued", "$foreground 65%"))
    elif math.isfinite(view.completion_rate):
        parts.append((f"  {format_short(view.completion_rate)}/s done", "$foreground 65%"))
    if view.failed:
        parts.append((f"  {format_short(view.failed)} failed", "$error"))
    return Content.assemble(*parts)


class LaneCard(Widget):
    """Shows one `LaneView` and turns what a person does into messages."""

    DEFAULT_CSS = """
    LaneCard {
        layout: grid;
        grid-size: 4;
        grid-columns: 1fr 10 5 5;
        grid-rows: 1;
        height: 4;
        padding: 0 1;

        & #name { width: 1fr; }
        & #state { column-span: 3; width: 1fr; text-align: right; }
        & Slider { column-span: 4; }
        & #holdings { column-span: 2; width: 1fr; }
        & .nudge { width: 4; margin-left: 1; color: $foreground 45%; }
        &.-selected .nudge { color: $foreground 80%; }
        /* A forecast, or why a lane cannot run, is longer than a number: the whole line is its. */
        &.-wordy #holdings { column-span: 4; }
        &.-wordy .nudge { display: none; }
    }
    """

    selected: reactive[bool] = reactive(False)
    """Whether the keys act on this lane."""
    color: reactive[str] = reactive("")
    """The lane's colour, ``#rrggbb``."""

    def __init__(self, lane: int, name: str, maximum: int, color: str, selected: bool) -> None:
        """Make the card of a lane.

        Args:
            lane: its number, from 0.
            name: of its engine.
            maximum: tasks at the slider's end.
            color: the lane's colour, ``#rrggbb``.
            selected: whether the keys act on this lane.
        """
        super().__init__(id=f"lane-{lane + 1}", classes="-selected" if selected else "")
        self.set_reactive(LaneCard.selected, selected)
        self.set_reactive(LaneCard.color, color)
        self._lane = lane
        self._engine = name
        self._maximum = maximum
        self._view: LaneView | None = None

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield Phrase(id="name")
        yield Tap(id="state")
        yield Slider(maximum=self._maximum, color=self.color)
        yield Tap(id="holdings")
        yield Tap(f"−{STEP // 1000}k", id="less", classes="nudge")
        yield Tap(f"+{STEP // 1000}k", id="more", classes="nudge")

    @property
    def slider(self) -> Slider:
        """The lane's slider."""
        return self.query_one(Slider)

    def show(self, view: LaneView) -> None:
        """Show the lane as it is now."""
        self._view = view
        self.slider.value = view.target
        self.slider.live = view.live
        self.slider.disabled = view.missing is not None
        self._show_texts()

    def _show_texts(self) -> None:
        view = self._view
        if view is None or not self.is_mounted:
            return
        name = (
            f"bold {self.color}"
            if view.on
            else f"{self.color} 70%"
            if not view.missing
            else "$foreground 40%"
        )
        mark = "▌" if self.selected else " "
        self.query_one("#name", Phrase).say(
            Content.assemble(
                (mark, self.color), (f"{self._lane + 1} ", "$foreground 55%"), (self._engine, name)
            )
        )
        text, style = MARKS[view.state]
        if view.stalled:
            text = f"{text} {format_seconds(view.stalled)}"
        self.query_one("#state", Tap).say(Content.styled(text, style))
        held = self.slider.held
        explains = bool(view.limited) if view.on else bool(view.missing or view.reason)
        self.set_class(held is not None or explains, "-wordy")
        line = holdings(view) if held is None else Content.styled(forecast(view, held), "bold $accent")
        self.query_one("#holdings", Tap).say(line)

    def watch_selected(self, selected: bool) -> None:
        """Mark the card."""
        self.set_class(selected, "-selected")
        self._show_texts()

    def watch_color(self, color: str) -> None:
        """Give the slider the lane's colour."""
        if self.is_mounted:
            self.slider.color = color
        self._show_texts()

    @on(DescendantFocus)
    def _follow_focus(self) -> None:
        self.post_message(LaneSelected(self._lane))

    @on(Slider.Dragged)
    @on(Slider.Cancelled)
    def _show_forecast(self, event: Slider.Moved) -> None:
        event.stop()
        self._show_texts()

    @on(Slider.Changed)
    def _ask_target(self, event: Slider.Changed) -> None:
        event.stop()
        self.post_message(TargetAsked(self._lane, event.value))

    @on(Tap.Tapped)
    def _tapped(self, event: Tap.Tapped) -> None:
        event.stop()
        self.slider.focus()
        match event.tap.id:
            case "state":
                self.post_message(LaneToggled(self._lane))
            case "less":
                self.post_message(TargetMoved(self._lane, -STEP))
            case "more":
                self.post_message(TargetMoved(self._lane, STEP))
            case _:
                self.post_message(NumberWanted(self._lane))
