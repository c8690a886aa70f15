"""The transport bar of a replay: play, position, speed, and timeline."""

from collections.abc import Sequence
from functools import partial

from textual import events, on
from textual.content import Content

from concwatch.ui.sources.play_head import PlayHead, format_moment
from concwatch.ui.widgets.bars.transport_line import TransportLine, TransportMark, cell_of, marks_in, share_at
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, call

SPEED_WIDTH = 5
"""The cells of the longest speed, ``×0.25``."""

NARROWEST = 8
"""The minimum number of cells of the timeline; if it had fewer, the speed is left out."""


class Transport(ClickableLines):
    """Buttons for play, pause and speed, position and length, and the timeline with its marks."""

    DEFAULT_CSS = """
    Transport {
        height: 1;
        padding: 0 1;
    }
    """

    def __init__(self, head: PlayHead) -> None:
        """Create the transport that shows and moves ``head``."""
        super().__init__()
        self._head = head
        self._marks: tuple[TransportMark, ...] = ()
        self._mark_texts: Sequence[str] = ()
        self._at = 0.0
        self._held: float | None = None

    def show(self, at: float) -> None:
        """Show the play head at a position in seconds."""
        self._at = at
        self.update_lines()

    def show_marks(self, marks: Sequence[TransportMark], texts: Sequence[str]) -> None:
        """Show marks, in the order of time, with ``texts`` as their tooltips."""
        self._marks, self._mark_texts = tuple(marks), texts
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the line: button, position and length, speed if it fits, and the timeline."""
        head, duration = self._head, self._head.duration
        button, style = ("▶", "bold $success") if head.playing else ("‖", "bold $warning")
        place, length = format_moment(self._at, duration), f" / {format_moment(duration, duration)}"
        cells = [
            Cell(3, Content.styled(f" {button} ", style), call(head.toggle)),
            Cell(1),
            Cell(len(place), Content.styled(place, "bold")),
            Cell(len(length), Content.styled(length, "$dim")),
        ]
        speed = [
            Cell(2),
            Cell(3, Content.styled(" « ", "bold $accent"), call(head.change_speed, -1)),
            Cell(SPEED_WIDTH, Content.styled(f"×{head.speed:g}".center(SPEED_WIDTH), "bold")),
            Cell(3, Content.styled(" » ", "bold $accent"), call(head.change_speed, 1)),
        ]
        if _width(cells + speed) + NARROWEST < width:
            cells += speed
        track = max(0, width - _width(cells) - 3)
        line = TransportLine(track, self._share(self._at), self._marks)
        knob = "bold $accent" if self._held is None else "bold $foreground"
        return ((*cells, Cell(2), Cell(track, line.content("$primary", knob, "$foreground 30%"))),)

    def _share(self, moment: float) -> float:
        return moment / self._head.duration if self._head.duration > 0 else 0.0

    # Mouse

    def _cell(self, event: events.MouseEvent) -> tuple[int, int]:
        """Return the cell of the timeline under the mouse, and the timeline's width."""
        *before, track = self.cell_rows(self.content_size.width)[0]
        return event.screen_offset.x - self.content_region.x - _width(before), track.width

    def _moment(self, event: events.MouseEvent) -> float:
        """Return the moment under the mouse: exactly that of the play head or of a mark if one is shown."""
        cell, width = self._cell(event)
        if self._held is None and cell == cell_of(self._share(self._at), width):
            return self._at
        mark = marks_in(self._marks, width).get(cell)
        return (mark.share if mark else share_at(cell, width)) * self._head.duration

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start a drag at the cell under the mouse."""
        cell, width = self._cell(event)
        if event.button == 1 and 0 <= cell < width:
            event.stop()
            self.screen.set_focus(None)  # so that the arrow keys move the play head again
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
            self.post_message(self.ActionRequested(partial(self._head.hold, moment)))

    def _update_tooltip(self, event: events.MouseMove) -> None:
        cell, width = self._cell(event)
        text = None
        if 0 <= cell < width:
            mark = marks_in(self._marks, width).get(cell)
            moment = format_moment(self._moment(event), self._head.duration)
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
            self.post_message(self.ActionRequested(partial(self._head.drop, moment)))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        by = 1.0 if isinstance(event, events.MouseScrollDown) else -1.0
        self.post_message(self.ActionRequested(partial(self._head.drop, self._at + by)))


def _width(cells: Sequence[Cell]) -> int:
    return sum(cell.width for cell in cells)
