"""The transport bar of a replay: play, position, speed, and timeline."""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct
from textual import events, on
from textual.content import Content

from concwatch.ui.sources.play_head import format_moment
from concwatch.ui.widgets.bars.transport_line import TransportLine, TransportMark, cell_of, marks_in, share_at
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, call

SPEED_WIDTH = 5
"""The cells of the longest speed, ``×0.25``."""

NARROWEST = 8
"""The minimum number of cells of the timeline; if it had fewer, the speed is left out."""


class Playing(Struct, frozen=True):
    """The state of the play head."""

    at: float
    """Seconds since the start of the recording."""
    moves: bool
    """Whether it is playing, not paused."""
    speed: float


class PlayControls(Protocol):
    """What moves the play head."""

    def toggle_play(self) -> None:
        """Play or pause."""
        ...

    def speed(self, step: int) -> None:
        """Play faster (1) or slower (-1)."""
        ...

    def hold(self, moment: float) -> None:
        """Move the play head to a moment, in seconds of the recording, while it is dragged."""
        ...

    def drop(self, moment: float) -> None:
        """Move the play head to a moment, in seconds of the recording, where the drag ends."""
        ...


class Transport(ClickableLines):
    """Buttons for play, pause and speed, position and length, and the timeline with its marks."""

    DEFAULT_CSS = """
    Transport {
        height: 1;
        padding: 0 1;
    }
    """

    def __init__(self, duration: float, controls: PlayControls) -> None:
        """Create the transport of a recording of ``duration`` seconds, which ``controls`` move."""
        super().__init__()
        self._controls = controls
        self._duration = duration
        self._marks: tuple[TransportMark, ...] = ()
        self._mark_texts: Sequence[str] = ()
        self._playing = Playing(0.0, False, 1.0)
        self._held: float | None = None

    def show(self, playing: Playing) -> None:
        """Show the state of the play head."""
        self._playing = playing
        self.update_lines()

    def show_marks(self, marks: Sequence[TransportMark], texts: Sequence[str]) -> None:
        """Show marks, in the order of time, with ``texts`` as their tooltips."""
        self._marks, self._mark_texts = tuple(marks), texts
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the line: button, position and length, speed if it fits, and the timeline."""
        playing, duration = self._playing, self._duration
        button, style = ("▶", "bold $success") if playing.moves else ("‖", "bold $warning")
        place, length = format_moment(playing.at, duration), f" / {format_moment(duration, duration)}"
        cells = [
            Cell(3, Content.styled(f" {button} ", style), call(self._controls.toggle_play)),
            Cell(1),
            Cell(len(place), Content.styled(place, "bold")),
            Cell(len(length), Content.styled(length, "$dim")),
        ]
        speed = [
            Cell(2),
            Cell(3, Content.styled(" « ", "bold $accent"), call(self._controls.speed, -1)),
            Cell(SPEED_WIDTH, Content.styled(f"×{playing.speed:g}".center(SPEED_WIDTH), "bold")),
            Cell(3, Content.styled(" » ", "bold $accent"), call(self._controls.speed, 1)),
        ]
        if _width(cells + speed) + NARROWEST < width:
            cells += speed
        track = max(0, width - _width(cells) - 3)
        line = TransportLine(track, self._share(playing.at), self._marks)
        head = "bold $accent" if self._held is None else "bold $foreground"
        return ((*cells, Cell(2), Cell(track, line.content("$primary", head, "$foreground 30%"))),)

    def _share(self, moment: float) -> float:
        return moment / self._duration if self._duration > 0 else 0.0

    # Mouse

    def _cell(self, event: events.MouseEvent) -> tuple[int, int]:
        """Return the cell of the timeline under the mouse, and the timeline's width."""
        *before, track = self.cell_rows(self.content_size.width)[0]
        return event.screen_offset.x - self.content_region.x - _width(before), track.width

    def _moment(self, event: events.MouseEvent) -> float:
        """Return the moment under the mouse: exactly that of the play head or of a mark if one is shown."""
        cell, width = self._cell(event)
        if self._held is None and cell == cell_of(self._share(self._playing.at), width):
            return self._playing.at
        mark = marks_in(self._marks, width).get(cell)
        return (mark.share if mark else share_at(cell, width)) * self._duration

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start a drag at the cell under the mouse."""
        cell, width = self._cell(event)
        if event.button == 1 and 0 <= cell < width:
            event.stop()
            self.capture_mouse()
            self._hold(self._moment(event))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the play head during a drag, or update the tooltip."""
        if self._held is not None:
            event.stop()
            self._hold(self._moment(event))
        else:
            self._update_tooltip(event)

    def _hold(self, moment: float) -> None:
        if moment != self._held:
            self._held = moment
            self.post_message(self.ActionRequested(partial(self._controls.hold, moment)))

    def _update_tooltip(self, event: events.MouseMove) -> None:
        cell, width = self._cell(event)
        text = None
        if 0 <= cell < width:
            mark = marks_in(self._marks, width).get(cell)
            moment = format_moment(self._moment(event), self._duration)
            text = f"{moment}  {self._mark_texts[self._marks.index(mark)]}" if mark else moment
        tooltip = None if text is None else Content(text)  # brackets in a string would be markup
        if self.tooltip != tooltip:
            self.tooltip = tooltip

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the drag."""
        if self._held is not None:
            event.stop()
            self._release()

    def on_mouse_release(self) -> None:
        """End the drag when something else, such as a new screen, takes the mouse."""
        if self.app.mouse_captured is not self:
            self._release()

    @on(events.Hide)
    def _release(self) -> None:
        """End the drag, also when the widget is hidden, as it would keep the mouse captured."""
        if self._held is not None:
            moment, self._held = self._held, None
            self.release_mouse()
            self.post_message(self.ActionRequested(partial(self._controls.drop, moment)))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        by = 1.0 if isinstance(event, events.MouseScrollDown) else -1.0
        self.post_message(self.ActionRequested(partial(self._controls.drop, self._playing.at + by)))


def _width(cells: Sequence[Cell]) -> int:
    return sum(cell.width for cell in cells)
