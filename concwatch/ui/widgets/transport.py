"""Where a recording is being played: the line below everything, worked by mouse."""

from collections.abc import Sequence

from msgspec import Struct
from textual import events, on
from textual.content import Content
from textual.message import Message

from concwatch.ui.moment import format_moment
from concwatch.ui.renderables.transport_line import Mark, TransportLine, cell_of, marks_in, share_at
from concwatch.ui.widgets.text_lines import Cell, ClickableLines, command

SPEED_WIDTH = 5
"""Cells of the longest speed, ``×0.25``."""

NARROWEST = 8
"""Cells that the line has at least; the speed's make room for it."""


class Playing(Struct, frozen=True):
    """Where the play head is, and how it moves."""

    at: float
    """Seconds since the recording's beginning."""
    moves: bool
    speed: float


class Transport(ClickableLines):
    """Play and pause, position and length, speed, and a line over the whole recording with its marks."""

    DEFAULT_CSS = """
    Transport {
        height: 1;
        padding: 0 1;
    }
    """

    class Moved(Message):
        """The play head was taken to a moment by mouse."""

        def __init__(self, moment: float) -> None:
            """Make a message about a ``moment``, in seconds since the recording's beginning."""
            super().__init__()
            self.moment = moment

    class Dragged(Moved):
        """It stands there as long as the button is down."""

    class Released(Moved):
        """It was let go there."""

    def __init__(self, duration: float) -> None:
        """Show a recording of ``duration`` seconds."""
        super().__init__()
        self._duration = duration
        self._marks: tuple[Mark, ...] = ()
        self._told: Sequence[str] = ()
        self._playing = Playing(0.0, False, 1.0)
        self._held: float | None = None

    def show(self, playing: Playing) -> None:
        """Show where the play head is now."""
        self._playing = playing
        self.update_lines()

    def show_marks(self, marks: Sequence[Mark], told: Sequence[str]) -> None:
        """Show these marks, in the order of time; ``told`` says what each is about, to who points at it."""
        self._marks, self._told = tuple(marks), told
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the one line: button, place and length, speed where there is room, and the track."""
        playing, duration = self._playing, self._duration
        button, style = ("▶", "bold $success") if playing.moves else ("‖", "bold $warning")
        place, length = format_moment(playing.at, duration), f" / {format_moment(duration, duration)}"
        cells = [
            Cell(3, Content.styled(f" {button} ", style), command("toggle_play")),
            Cell(1),
            Cell(len(place), Content.styled(place, "bold")),
            Cell(len(length), Content.styled(length, "$dim")),
        ]
        speed = [
            Cell(2),
            Cell(3, Content.styled(" « ", "bold $accent"), command("speed", -1)),
            Cell(SPEED_WIDTH, Content.styled(f"×{playing.speed:g}".center(SPEED_WIDTH), "bold")),
            Cell(3, Content.styled(" » ", "bold $accent"), command("speed", 1)),
        ]
        if _width(cells + speed) + NARROWEST < width:
            cells += speed
        track = max(0, width - _width(cells) - 3)
        line = TransportLine(track, self._share(playing.at), self._marks)
        head = "bold $accent" if self._held is None else "bold $foreground"
        return ((*cells, Cell(2), Cell(track, line.content("$primary", head, "$foreground 30%"))),)

    def _share(self, moment: float) -> float:
        return moment / self._duration if self._duration > 0 else 0.0

    # What the mouse does.

    def _cell(self, event: events.MouseEvent) -> tuple[int, int]:
        """Return the cell of the track that is under the mouse, and how many it has."""
        *before, track = self.cell_rows(self.content_size.width)[0]
        return event.screen_offset.x - self.content_region.x - _width(before), track.width

    def _moment(self, event: events.MouseEvent) -> float:
        """Return the moment under the mouse: exactly that of the play head or of a mark where one is seen."""
        cell, width = self._cell(event)
        if self._held is None and cell == cell_of(self._share(self._playing.at), width):
            return self._playing.at
        mark = marks_in(self._marks, width).get(cell)
        return (mark.share if mark else share_at(cell, width)) * self._duration

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take the play head to what is under the mouse."""
        cell, width = self._cell(event)
        if event.button == 1 and 0 <= cell < width:
            event.stop()
            self.capture_mouse()
            self._hold(self._moment(event))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the play head along, or explain what is under the mouse."""
        if self._held is not None:
            event.stop()
            self._hold(self._moment(event))
        else:
            self._explain(event)

    def _hold(self, moment: float) -> None:
        if moment != self._held:
            self._held = moment
            self.post_message(self.Dragged(moment))

    def _explain(self, event: events.MouseMove) -> None:
        cell, width = self._cell(event)
        text = None
        if 0 <= cell < width:
            mark = marks_in(self._marks, width).get(cell)
            moment = format_moment(self._moment(event), self._duration)
            text = f"{moment}  {self._told[self._marks.index(mark)]}" if mark else moment
        told = None if text is None else Content(text)  # in plain text Textual would read brackets as markup
        if self.tooltip != told:
            self.tooltip = told

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go."""
        if self._held is not None:
            event.stop()
            self._release()

    def on_mouse_release(self) -> None:
        """Let go when something else, such as a new screen, took the mouse."""
        if self.app.mouse_captured is not self:
            self._release()

    @on(events.Hide)
    def _release(self) -> None:
        """Let go, also of a widget that is hidden, which would keep the mouse from others."""
        if self._held is not None:
            moment, self._held = self._held, None
            self.release_mouse()
            self.post_message(self.Released(moment))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        """Go a second back, or on."""
        event.stop()
        by = 1.0 if isinstance(event, events.MouseScrollDown) else -1.0
        self.post_message(self.Released(self._playing.at + by))


def _width(cells: Sequence[Cell]) -> int:
    return sum(cell.width for cell in cells)
