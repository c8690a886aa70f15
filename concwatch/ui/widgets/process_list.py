"""The watched processes, a line each, under what all of them come to."""

from collections.abc import Sequence

from textual.content import Content

from concwatch.lab.lane_state import State
from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.ui.widgets.side import Side
from concwatch.ui.widgets.text_lines import Cell, ClickableLines, do
from concwatch.units import format_bytes, format_count, format_short

ALL = -1
"""The choice of all processes together."""

LIVE, RSS, GAP = 6, 9, 1
"""Cells of the numbers at the right, and before each."""

MOST = 200
"""Processes that are listed: those that run before those that have ended."""

DOTS: dict[State, tuple[str, str]] = {
    State.STARTING: ("◌", "$warning"),
    State.RUNNING: ("●", "$success"),
    State.STALLED: ("●", "$warning"),
    State.OFF: ("○", "$dim"),
    State.FAILED: ("✕", "$error"),
    State.LOST: ("✕", "$error"),
}
"""What stands before a process in each state, and its colour."""


def listed(view: Snapshot) -> list[tuple[int, LaneSnapshot]]:
    """Return the processes that are listed, each with its number, those that run first."""
    lanes = sorted(enumerate(view.lanes), key=lambda one: (not one[1].on, one[0]))
    return lanes[:MOST]


class ProcessSide(Side):
    """The column that holds the processes."""

    TITLE = "processes"
    SCALED = False


class ProcessList(ClickableLines):
    """Shows a line a process; a click chooses the one whose tasks the table shows."""

    DEFAULT_CSS = """
    ProcessList {
        height: auto;
        padding: 0 0 0 1;
    }
    """

    _shown: tuple[Snapshot, Sequence[str], int, Sequence[tuple[str, str]]] | None = None

    def show(
        self, view: Snapshot, colors: Sequence[str], chosen: int, details: Sequence[tuple[str, str]]
    ) -> None:
        """Show processes.

        Args:
            view: all of them at one moment.
            colors: ``#rrggbb``, one for each.
            chosen: the number of the one that is chosen, or `ALL`.
            details: what else is known of the one that is chosen, or the only one: labels and texts.
        """
        self._shown = (view, colors, chosen, details)
        self.follow()

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the line of all, and one for each."""
        if self._shown is None:
            return ()
        view, colors, chosen, details = self._shown
        low = self.screen.has_class("-narrow", "-short", "-tiny")
        running = sum(lane.on for lane in view.lanes)
        live = sum(lane.live for lane in view.lanes if lane.on)
        lines = [
            self._line(
                width,
                Content.assemble((self._mark(ALL), "$accent"), (f"total of {running}", "bold")),
                format_short(live),
                format_bytes(view.total_rss),
                ALL,
            )
        ]
        for number, lane in listed(view):
            dot, style = DOTS.get(lane.status.state, DOTS[State.STARTING])
            name = Content.assemble(
                (self._mark(number), colors[number]),
                (f"{dot} ", style),
                (lane.name, f"bold {colors[number]}" if lane.on else "$dim"),
            )
            tasks = "" if lane.sample.live is None else format_short(lane.live)
            memory = "" if lane.sample.rss is None else format_bytes(lane.sample.rss)
            lines.append(self._line(width, name, tasks, memory, number))
            if not low and (number == chosen or len(view.lanes) == 1):
                lines += [
                    (Cell(width, Content.assemble((f"    {label[:10]:11}", "$dim"), text)),)
                    for label, text in details
                ]
        hidden = len(view.lanes) - MOST
        if hidden > 0:
            lines.append((Cell(width, Content.styled(f"  and {format_count(hidden)} more", "$dim")),))
        return lines

    def _mark(self, number: int) -> str:
        return "▌" if self._shown and self._shown[2] == number else " "

    @staticmethod
    def _line(width: int, name: Content, live: str, rss: str, number: int) -> tuple[Cell, ...]:
        room = max(0, width - LIVE - RSS - 2 * GAP)
        return (
            Cell(room, name, do("choose_process", number)),
            Cell(GAP),
            Cell(LIVE, Content(live), right=True),
            Cell(GAP),
            Cell(RSS, Content(rss), right=True),
        )
