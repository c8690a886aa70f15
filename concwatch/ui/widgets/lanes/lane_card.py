"""The card of a lane: its name, state, slider, and tasks."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from textual import on
from textual.content import Content
from textual.geometry import Offset, Region
from textual.reactive import reactive

from concwatch.monitor.metrics.metrics import LaneSnapshot, cost_metric
from concwatch.monitor.metrics.state import ACTIVE, State
from concwatch.portable.protocol.units import format_bytes, format_count, format_seconds, format_short
from concwatch.ui.widgets.lanes.slider import Slider
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call

FORECAST_SHOWN = 1.5
"""Seconds for which the forecast of a new target is shown."""

STEP = 10_000
"""The tasks that ``+`` and ``-`` add and remove."""

NUMBER, STATE, SUMMARY, LIVE = 3, 17, 29, 7
"""The widths in cells of the parts of a card of one line; the slider takes the rest."""

STEPS = 10
"""The width in cells of the texts that add and remove tasks, with the spaces before them."""

LONGEST = len("1.05 k")
"""The width in cells of the longest number with three significant digits."""

SYMBOL = 2
"""The width in cells of a state without its word, where there is no room for it."""

LEAST_TRACK = 12
"""The minimum width in cells of a slider beside the word of the state and a whole summary."""

MARKS: dict[State, tuple[str, str]] = {
    State.OFF: ("○ off", "$dim"),
    State.BUILDING: ("◌ building", "$warning"),
    State.STARTING: ("◌ starting", "$warning"),
    State.RUNNING: ("● on", "$success"),
    State.STALLED: ("● stalled", "$warning"),
    State.STOPPING: ("◌ stopping", "$warning"),
    State.FAILED: ("✕ failed", "$error"),
    State.LOST: ("✕ lost", "$error"),
}
"""State → text and colour of the lane's switch."""

CANNOT_RUN = ("✕ cannot run", "$dim")
"""Text and colour of the switch if what the engine needs is missing or broken."""


def forecast(view: LaneSnapshot, tasks: int, why: bool = False) -> str:
    """Return the expected change of memory for ``tasks`` tasks: ``10,000 → about +15 MiB``.

    If more of them would end than the engine can replace, return how many can be live; ``why``: and why.
    """
    most = view.status.most_held
    if most is not None and tasks > most:
        reason = "of these at once: they end faster than they start" if why else "at once"
        return f"at most about {format_count(most)} {reason}"
    size = (tasks - view.live) * view.status.bytes_per_task
    sign = "+" if size >= 0 else "−"
    return f"{format_count(tasks)} → about {sign}{format_bytes(abs(size))}"


def _reason(text: str, width: int) -> str:
    """Return a reason, up to its first colon or semicolon if it does not fit into ``width`` cells."""
    return text if len(text) <= width else text.partition(": ")[0].partition("; ")[0]


def summary(view: LaneSnapshot, hint: str, width: int, cost: bool = False) -> Content:
    """Return a lane's tasks, why it cannot run or has failed, or ``hint`` if it is off.

    ``cost`` adds the memory of a task, where there is no table.
    """
    status, sample = view.status, view.sample
    if status.missing and not view.on:
        return assemble((_reason(status.missing, width), "$dim"))
    if status.state.broken:
        return assemble((_reason(status.reason, width), "$error"))
    if not view.on:
        return assemble((hint, "$dim"))
    live, more, style = f"{format_count(view.live)} live ", "", "$dim"
    room = width - len(live)
    if view.failed:
        more, style = f" {format_short(view.failed)} failed", "bold $error"
    elif cost:
        metric, style = cost_metric([view]), ""
        value = f"{metric.text(view)}{metric.marks(view)}"
        short = f"{format_short(view.live)} live "
        forms = [(form, f"{value}{unit}") for form, unit in ((live, "/task"), (short, "/task"), (short, ""))]
        live, more = next((form for form in forms if len(" ".join(form)) <= width), forms[-1])
        more = more.rjust(width - len(live))
    elif status.limit:
        more, style = f" {status.limit}", "$warning"
    elif view.engine.queues and view.live:
        more = _changing(sample.queued or 0, " queued", room)
    elif sample.completed_mean is not None:
        more = _changing(sample.completed_mean, "/s ended", room)
    return assemble((live, "bold"), (more, style) if style else more)


def _changing(number: float, unit: str, room: int) -> str:
    """Return a number that changes often, or nothing if its longest form does not fit into ``room`` cells."""
    text = format_count(number) if number < 100_000 else format_short(number)
    return f"{text}{unit}" if LONGEST + len(unit) <= room else ""


def switch_text(view: LaneSnapshot) -> Content:
    """Return the state of a lane, and for how long it has been stalled."""
    text, style = CANNOT_RUN if view.status.missing and not view.on else MARKS[view.status.state]
    if view.on and view.sample.stalled:
        text = f"{text} {format_seconds(view.sample.stalled)}"
    return assemble((text, style))


class LaneControls(Protocol):
    """What changes a lane."""

    def toggle_lane(self, lane: int) -> None:
        """Switch a lane on or off."""
        ...

    def change_target(self, by: int, lane: int) -> None:
        """Change the target of a lane by a number of tasks."""
        ...

    def set_target(self, tasks: int, lane: int) -> None:
        """Set the target of a lane."""
        ...

    def ask_target(self, lane: int) -> None:
        """Ask for the target of a lane."""
        ...


class LaneCard(ClickableLines, Slider, can_focus=True):
    """Shows the snapshot of a lane, and is its slider: one more widget would delay the first frame."""

    DEFAULT_CSS = """
    LaneCard {
        height: 4;
        padding: 0 0 0 1;
    }
    """

    HINT = "drag the slider"
    """The text of a lane that is off."""
    HAS_STEPS = True
    """Whether there are texts to click that add and remove tasks."""

    selected: reactive[bool] = reactive(False)
    """Whether keys act on this lane."""

    def __init__(
        self,
        controls: LaneControls | None,
        lane: int,
        name: str,
        name_width: int,
        maximum: int,
        color: str,
        selected: bool,
    ) -> None:
        """Create the card of a lane.

        Args:
            controls: what clicks and the slider use; None if the lane cannot be changed.
            lane: its number, from 0.
            name: its name.
            name_width: the width in cells of the longest name of all lanes.
            maximum: the right end of the slider, in tasks.
            color: its colour, ``#rrggbb``.
            selected: whether keys act on it.
        """
        super().__init__(id=f"lane-{lane + 1}")
        self.set_reactive(Slider.maximum, maximum)
        self.set_reactive(Slider.color, color)
        self.set_reactive(LaneCard.selected, selected)
        self.set_reactive(LaneCard.locked, controls is None)
        self._controls = controls
        self._lane = lane
        self._engine = name
        self._name_cells = NUMBER + name_width
        self._view: LaneSnapshot | None = None
        self._forecast, self._forecast_until = "", -math.inf
        self._dragging = False
        self._rows, self._cost = 3, False
        self._before, self._after = 0, 0

    def place(self, rows: int, width: int, beside: bool, cost: bool) -> None:
        """Place the parts of the card.

        Args:
            rows: its height: 4 with a gap below it, 3, 2, or 1.
            width: its width in cells, as good as it is known before the first layout.
            beside: whether it stands beside the charts.
            cost: whether it shows the memory of a task.
        """
        self._rows, self._cost = rows, cost
        line = rows == 1
        left, summary_cells = self._name_cells + SYMBOL, LIVE if beside else SUMMARY
        if not beside and width - self._name_cells - STATE - SUMMARY >= LEAST_TRACK:
            left = self._name_cells + STATE
        self._before, self._after = (left, summary_cells + 1) if line else (0, 0)
        self.styles.height = rows
        self.styles.padding = (0, 0, 0, 0 if line else 1)
        self.update_lines()

    def show(self, view: LaneSnapshot, refill: bool = True, maximum: int | None = None) -> None:
        """Show a snapshot of the lane.

        Args:
            view: the snapshot.
            refill: whether tasks that end are replaced.
            maximum: the right end of the slider in tasks; None to keep it.
        """
        self._view = view
        if maximum is not None and self.held is None:
            self.set_reactive(Slider.maximum, maximum)
        running = view.status.state in ACTIVE
        finished = running and bool(view.status.target) and not (view.live or refill)
        self.set_reactive(Slider.finished, finished)
        self.set_reactive(Slider.value, view.status.target)
        self.set_reactive(Slider.live, view.live)
        self.locked = self._controls is None or view.status.missing is not None
        self.update_lines()

    @property
    def track(self) -> Region:
        """The cells of the slider, relative to the content of the card."""
        width = max(0, self.content_size.width - self._before - self._after)
        return Region(self._before, min(self._rows - 1, 1), width, 1)

    def is_button(self, position: Offset) -> bool:
        """Return whether a press of the mouse at a position on the screen does something."""
        return super().is_button(position) or self.is_on_track(position)

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return three, two or one lines, one of them with the slider."""
        view = self._view
        if view is None:
            return ()
        heading, state = self._heading(view), switch_text(view)
        name = Cell(self._name_cells, heading)
        live = Cell(LIVE, assemble(format_short(view.live) if view.on else ""), call(self._ask), right=True)
        if self._rows == 1:
            cells = self._before - self._name_cells
            switch = Cell(cells, state if cells > SYMBOL else state[:1], call(self._switch))
            track = self._track_cell(max(0, width - self._before - self._after))
            last = live if self._after == LIVE + 1 else self._summary(view, SUMMARY)
            return ((name, switch, track, Cell(1), last),)
        line, rest = (self._track_cell(width),), width - self._name_cells
        if self._rows == 2 and self._forecasts(view):
            return (name, self._summary(view, rest)), line
        if self._rows == 2:
            return (name, live, Cell(rest - LIVE, state, call(self._switch), right=True)), line
        # A forecast or an explanation takes the whole line.
        whole = self._forecasts(view) or view.status.state.broken or bool(view.status.missing or view.failed)
        whole = whole or bool(view.on and view.status.limit) or not self.HAS_STEPS
        last_line = [self._summary(view, width if whole else max(0, width - STEPS))]
        for sign, by in () if whole else (("−", -STEP), ("+", STEP)):
            step = assemble((f"{sign}{STEP // 1000}k", "$foreground" if self.selected else "$dim"))
            last_line += [Cell(1), Cell(4, step, call(self._change, by))]
        first = Cell(max(0, width - 20), heading), Cell(20, state, call(self._switch), right=True)
        return first, line, last_line

    def _forecasts(self, view: LaneSnapshot) -> bool:
        """Return whether the card shows the forecast of a target."""
        return self.held is not None or view.sample.time < self._forecast_until

    def _summary(self, view: LaneSnapshot, room: int) -> Cell:
        """Return the forecast of a target, or the summary of the lane, in ``room`` cells."""
        line = summary(view, self.HINT, room, self._cost)
        if self._forecasts(view):
            text = self._forecast if self.held is None else forecast(view, self.held)
            line = assemble((text, "bold $accent"))
        return Cell(room, line, call(self._ask))

    def _track_cell(self, width: int) -> Cell:
        return Cell(width, self.track_text(width))

    def _heading(self, view: LaneSnapshot) -> Content:
        style = f"bold {self.color}" if view.on else self.color if not view.status.missing else "$dim"
        mark = "▌" if self.selected else " "
        return assemble((mark, self.color), (f"{self._lane + 1} ", "$dim"), (self._engine, style))

    def watch_selected(self) -> None:
        """Mark or unmark the card."""
        self.update_lines()

    def _select(self) -> LaneControls:
        """Select the lane, and return what changes it."""
        assert self._controls is not None
        self.focus()
        return self._controls

    def _switch(self) -> None:
        self._select().toggle_lane(self._lane)

    def _change(self, by: int) -> None:
        self._select().change_target(by, self._lane)

    def _ask(self) -> None:
        self._select().ask_target(self._lane)

    @on(Slider.Dragged)
    @on(Slider.Cancelled)
    def _show_forecast(self, event: Slider.Moved) -> None:
        self._dragging = isinstance(event, Slider.Dragged)
        self.update_lines()

    @on(Slider.Changed)
    def _set_target(self, event: Slider.Changed) -> None:
        event.stop()
        view = self._view
        if view is not None and not self._dragging:  # a drag has shown its forecast
            self._forecast = forecast(view, event.value)
            self._forecast_until = view.sample.time + FORECAST_SHOWN
            self.update_lines()
        self._dragging = False
        if self._controls is not None:
            set_target = partial(self._controls.set_target, event.value, self._lane)
            self.post_message(self.ActionRequested(set_target))
