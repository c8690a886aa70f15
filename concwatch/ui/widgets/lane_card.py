"""One lane on the left: its name, its switch, its slider, and what it holds."""

import math
from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.color import Color
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.style import Style

from concwatch.lab.lane_state import State
from concwatch.lab.snapshot import LaneSnapshot
from concwatch.ui.widgets.slider import Slider
from concwatch.ui.widgets.text_lines import Cell, ClickableLines, command
from concwatch.units import format_bytes, format_count, format_seconds, format_short

SAID = 1.5
"""Seconds for which a number that a key has set is shown with its forecast."""

STEP = 10_000
"""Tasks that ``+`` and ``-`` add and take."""

NUMBER, STATE, HOLDINGS = 3, 17, 29
"""Cells of a narrow card's parts; the name takes its own, and what is left is the slider's."""

COMPACT_SLIDER, COMPACT_LIVE = 8, 6
"""Cells of the slider and of the number where a card has one line of a narrow column."""

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
"""What a lane's switch shows in each state, and its colour."""

ACTIONS: dict[str, tuple[str, *tuple[int, ...]]] = {
    "state": ("toggle_lane",),
    "less": ("change_target", -STEP),
    "more": ("change_target", STEP),
}
"""What a click runs, and with which arguments before the lane's number; elsewhere it asks for a number."""

CANNOT_RUN = ("✕ cannot run", "$dim")
"""What it shows, whether it was tried or not, where what the engine needs is missing or broken."""


def forecast(view: LaneSnapshot, tasks: int) -> str:
    """Return what holding ``tasks`` would take: ``10,000 → about +15 MiB``."""
    size = (tasks - view.live) * view.status.bytes_per_task
    sign = "+" if size >= 0 else "−"
    return f"{format_count(tasks)} → about {sign}{format_bytes(abs(size))}"


def holdings(view: LaneSnapshot, hint: str) -> Content:
    """Return what a lane holds, why it cannot run or has failed, or ``hint`` what to do."""
    status, sample = view.status, view.sample
    if status.missing and not view.on:
        return Content.styled(status.missing, "$dim")
    if status.state.broken:
        return Content.styled(status.reason, "$error")
    if not view.on:
        return Content.styled(hint, "$dim")
    parts: list[str | tuple[str, str]] = [(f"{format_count(view.live)} live", "bold")]
    if view.failed:
        parts.append((f"  {format_short(view.failed)} failed", "bold $error"))
    elif status.wall:
        parts.append((f"  {status.wall}", "$warning"))
    elif view.engine.queues and view.live:
        parts.append((f"  {format_count(sample.queued or 0)} queued", "$dim"))
    elif sample.completed_mean is not None:
        parts.append((f"  {format_short(sample.completed_mean)}/s done", "$dim"))
    return Content.assemble(*parts)


def switch(view: LaneSnapshot) -> Content:
    """Return whether a lane is on, and for how long it has stalled, or that its engine cannot run here."""
    text, style = CANNOT_RUN if view.status.missing and not view.on else MARKS[view.status.state]
    if view.on and view.sample.stalled:
        text = f"{text} {format_seconds(view.sample.stalled)}"
    return Content.styled(text, style)


class LaneCard(ClickableLines):
    """Shows one `LaneSnapshot`; what a person does to it runs a command of the screen's controls."""

    DEFAULT_CSS = """
    LaneCard {
        height: 4;
        padding: 0 0 0 1;
        & Slider { margin-top: 1; }
    }
    """

    HINT = "drag the slider"
    """What a lane says that is off."""
    NUDGES = True
    """Whether there are words to click that move the target."""

    selected: reactive[bool] = reactive(False)
    """Whether the keys act on this lane."""
    color: reactive[str] = reactive("")
    """The lane's colour, ``#rrggbb``."""

    def __init__(self, lane: int, name: str, room: int, maximum: int, color: str, selected: bool) -> None:
        """Make the card of lane number ``lane`` (from 0), whose slider ends at ``maximum`` tasks.

        ``room`` is the cells of the longest name of all lanes.
        """
        super().__init__(id=f"lane-{lane + 1}")
        self.set_reactive(LaneCard.selected, selected)
        self.set_reactive(LaneCard.color, color)
        self._lane = lane
        self._engine = name
        self._name_cells = NUMBER + room
        self._view: LaneSnapshot | None = None
        self._asked, self._asked_until = "", -math.inf
        self._dragging = False
        self.slider = Slider(maximum=maximum, color=color)
        """The lane's slider, in the line that `cell_rows` leaves to it."""

    def compose(self) -> ComposeResult:
        """Lay the slider over the text."""
        yield self.slider

    def show(self, view: LaneSnapshot, refill: bool = True) -> None:
        """Show the lane as it is now; ``refill``: whether a task that ends is replaced."""
        self._view = view
        self.slider.spent = bool(view.on and view.status.target and not (view.live or refill))
        self.slider.value = view.status.target
        self.slider.live = view.live
        self.slider.disabled = view.status.missing is not None
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return three lines, the slider's in the middle, or one where the card is one line high."""
        view = self._view
        if view is None:
            return ()
        held = self.slider.held
        asked = held is not None or view.sample.time < self._asked_until
        line = holdings(view, self.HINT)
        if asked:
            line = Content.styled(self._asked if held is None else forecast(view, held), "bold $accent")
        heading, state = self._heading(view), switch(view)
        if self.outer_size.height == 1 and width < self._name_cells + STATE + HOLDINGS:
            # The slider lies between the name and what is held.
            live = Content(format_short(view.live) if view.on else "")
            return (
                (
                    Cell(width - COMPACT_SLIDER - COMPACT_LIVE - 4, heading),
                    Cell(1),
                    Cell(2, state[:1], "state"),
                    self.track(COMPACT_SLIDER),
                    Cell(1),
                    Cell(COMPACT_LIVE, live, "holdings", right=True),
                ),
            )
        if self.outer_size.height == 1:
            return (
                (
                    Cell(self._name_cells, heading),
                    Cell(STATE, state, "state"),
                    self.track(max(2, width - self._name_cells - STATE - HOLDINGS)),
                    Cell(HOLDINGS, line, "holdings"),
                ),
            )
        status = view.status
        explains = bool(status.wall or view.failed) if view.on else bool(status.missing or status.reason)
        # A forecast, or why a lane cannot run, is longer than a number: the whole line is its.
        last = [Cell(width, line, "holdings")]
        if self.NUDGES and not asked and not explains:
            last = [Cell(max(0, width - 10), line, "holdings")]
            for action, sign in (("less", "−"), ("more", "+")):
                nudge = Content.styled(f"{sign}{STEP // 1000}k", "$foreground" if self.selected else "$dim")
                last += [Cell(1), Cell(4, nudge, action)]
        return (
            (Cell(max(0, width - 20), heading), Cell(20, state, "state", right=True)),
            (self.track(width),),
            last,
        )

    def track(self, width: int) -> Cell:
        """Return the ``width`` cells over which the slider lies."""
        return Cell(width)

    def _heading(self, view: LaneSnapshot) -> Content:
        style = f"bold {self.color}" if view.on else self.color if not view.status.missing else "$dim"
        mark = "▌" if self.selected else " "
        return Content.assemble((mark, self.color), (f"{self._lane + 1} ", "$dim"), (self._engine, style))

    def watch_selected(self) -> None:
        """Mark the card."""
        self.update_lines()

    def watch_color(self, color: str) -> None:
        """Pass the lane's colour on to the slider."""
        self.slider.color = color
        self.update_lines()

    async def run_cell_action(self, action: str) -> None:
        """Select the lane, and switch it, move its target, or ask for a number."""
        self.slider.focus()
        await self._run(*ACTIONS.get(action, ("ask_target",)))

    async def _run(self, name: str, *args: object) -> None:
        await self.run_action(f"screen.{command(name, *args, self._lane)}")

    @on(Slider.Dragged)
    @on(Slider.Cancelled)
    def _show_forecast(self, event: Slider.Moved) -> None:
        event.stop()
        self._dragging = isinstance(event, Slider.Dragged)
        self.update_lines()

    @on(Slider.Changed)
    async def _ask_target(self, event: Slider.Changed) -> None:
        event.stop()
        view = self._view
        if view is not None and not self._dragging:  # what is dragged has been told
            self._asked, self._asked_until = forecast(view, event.value), view.sample.time + SAID
            self.update_lines()
        self._dragging = False
        await self._run("set_target", event.value)


class RecordedCard(LaneCard):
    """Shows a lane as it was recorded; a click chooses it, and says that nothing can be switched.

    Its slider only knows what it would show: the card draws that, for a jump would wait for six widgets more.
    """

    HINT = ""
    NUDGES = False

    def compose(self) -> ComposeResult:
        """Nothing stands over the text."""
        return ()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the lines of a lane's card, with nothing to click."""
        return [[cell._replace(action="") for cell in line] for line in super().cell_rows(width)]

    def track(self, width: int) -> Cell:
        """Return a track with a stroke at what was asked for, where a slider has a knob to take hold of."""
        _, _, background, _ = self.colors
        color = Color.parse(self.color)
        lane, pending = (
            Style(foreground=background.blend(color, share, alpha=1.0)) for share in (0.75, 0.45)
        )
        bar = self.slider.bar(width if self.outer_size.height > 1 else width - 1, "┃")
        return Cell(width, bar.content(lane, pending, "$dim", "$foreground 20%"))

    async def on_click(self, event: Click) -> None:
        """Select the lane; what it shows was recorded."""
        event.stop()
        await self.run_action(f"screen.{command('select_lane', self._lane)}")
        x, y = event.screen_offset - self.content_region.offset
        if y > 0 or x >= self.cell_rows(self.content_size.width)[0][0].width:
            await self.run_action(f"screen.{command('refuse')}")
