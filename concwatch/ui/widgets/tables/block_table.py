"""The table of what has blocked the event loops of a watched program: one line for each place."""

from collections.abc import Sequence

from msgspec import Struct
from textual.content import Content

from concwatch.monitor.verdicts.blocks import BlockedPlace
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import UNKNOWN, format_count, format_percent, format_seconds
from concwatch.ui.widgets.text.place_table import Places, PlaceTable
from concwatch.ui.widgets.text.table import Column
from concwatch.ui.widgets.text.text_lines import assemble

FRAMES = 6
"""The maximum number of frames of a stack that are listed."""

CAUSES = {"gc": "garbage collection", "stopped": "process stopped, or no processor free"}
"""Cause → the name of its row; the cause "code" has that of its function."""


class BlockRow(Struct, frozen=True):
    """A row of the table."""

    place: BlockedPlace
    total: float
    """The seconds for which loops were blocked at all places."""

    @property
    def share(self) -> float:
        """Its share of that."""
        return self.place.seconds / self.total if self.total else 0.0

    @property
    def name(self) -> str:
        """The function, or the cause."""
        return CAUSES.get(self.place.cause) or f"{'' if self.place.exact else '≈ '}{self.place.function}"


COLUMNS: tuple[Column[BlockRow], ...] = (
    Column(
        "total", 9, lambda row: format_seconds(row.place.seconds), lambda row: row.place.seconds,
        about=("total", "For how long loops were blocked at a place, all blocks together."),
    ),
    Column(
        "share", 7, lambda row: format_percent(row.share), lambda row: row.share, 2,
        about=("share", "That time, of the time for which loops were blocked anywhere."),
    ),
    Column(
        "times", 8, lambda row: format_count(row.place.count), lambda row: row.place.count,
        about=("times", "How often a loop was blocked there."),
    ),
    Column(
        "longest", 9, lambda row: format_seconds(row.place.longest), lambda row: row.place.longest,
        about=("longest", "The longest block there."),
    ),
    Column(
        "mean", 9, lambda row: format_seconds(row.place.seconds / max(1, row.place.count)),
        lambda row: row.place.seconds / max(1, row.place.count), 3,
        about=("mean", "The mean length of the blocks there."),
    ),
    Column(
        "in task", 16, lambda row: row.place.group[:16] or UNKNOWN, lambda row: None, 4,
        about=("in task", "The function of the task that blocked the loop."),
    ),
)  # fmt: skip


class BlockTable(PlaceTable[BlockRow]):
    """Shows the places, sorted by a column."""

    BORDER_TITLE = "blocks of the event loops"
    HEADS = ("blocked in", "at")

    def show(
        self,
        places: Sequence[BlockRow],
        sorted_by: str,
        chosen: int,
        rows: int,
        opened: bool,
        empty: str,
    ) -> None:
        """Show ``places`` in their order.

        Args:
            places: the places, sorted.
            sorted_by: the title of the column that they are sorted by.
            chosen: the index of the selected place.
            rows: the maximum number of places to show.
            opened: whether to list the stack of the selected place.
            empty: the text without a place.
        """
        self.show_places(Places(places, sorted_by, chosen, rows, opened, empty), COLUMNS)
        self.set_subtitle(f"{format_count(chosen + 1)} of {len(places)}" if len(places) > rows else "")

    def describe(self, row: BlockRow) -> tuple[str, str, str]:
        """Return a function or cause, its style, and the line."""
        style = "bold" if row.place.cause == "code" else ""
        return row.name, style, short_place(row.place.where) if row.place.where else ""

    def below(self, row: BlockRow) -> Sequence[Content]:
        """Return the lines of a stack, innermost first."""
        stack = row.place.stack[:FRAMES]
        return [
            assemble(("   ↳ ", "$dim"), (frame.in_, "bold"), (f"  {short_place(frame.where)}", "$dim"))
            for frame in stack
        ] or [assemble(("   ↳ no stack", "$dim"))]
