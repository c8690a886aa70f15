"""What a task costs, a line a lane: the answer."""

import math
from collections.abc import Callable

from msgspec import Struct
from textual.content import Content

from concwatch.lab.view import LabView, LaneView
from concwatch.ui.widgets.phrase import Phrase
from concwatch.units import format_bytes, format_count, format_percent, format_seconds, format_short

UNKNOWN = "–"
TRACED_MARK = " ᵗ"
KEPT_MARK = " ≈"


class Column(Struct, frozen=True):
    """One column: its heading, its width in cells, what it says of a lane, and whether 80 cells have room."""

    heading: str
    width: int
    text: Callable[[LaneView], str]
    narrow: bool = True


def _rss(lane: LaneView) -> str:
    if lane.cost is None:
        return UNKNOWN + "  "
    mark = TRACED_MARK if lane.cost.tracing else KEPT_MARK if not lane.cost.clean else "  "
    return format_bytes(lane.cost.rss) + mark


def _traced(lane: LaneView) -> str:
    return format_bytes(lane.cost.traced) if lane.cost and lane.cost.traced is not None else UNKNOWN


def _number(value: float | None, form: Callable[[float], str]) -> str:
    return UNKNOWN if value is None or not math.isfinite(value) else form(value)


def _fit(lane: LaneView) -> str:
    tasks = format_count(lane.fit.tasks) if lane.fit.tasks < 100_000 else format_short(lane.fit.tasks)
    return f"{tasks:>8} {lane.fit.wall:16}"


COLUMNS = (
    Column("live", 10, lambda lane: format_count(lane.live) if lane.on else UNKNOWN),
    Column("RSS/task  ", 12, _rss),
    Column("traced/task", 12, _traced),
    Column("× least", 9, lambda lane: _number(lane.ratio, lambda ratio: f"{ratio:.1f} ×"), narrow=False),
    Column(
        "created/s",
        11,
        lambda lane: _number(lane.create_speed if lane.on else None, format_short),
        narrow=False,
    ),
    Column("done/s", 8, lambda lane: _number(lane.completion_rate if lane.on else None, format_short)),
    Column("lag", 9, lambda lane: _number(lane.lag if lane.on else None, format_seconds), narrow=False),
    Column(
        "in GC", 7, lambda lane: _number(lane.gc_share if lane.on else None, format_percent), narrow=False
    ),
    Column("fits, then the wall      ", 26, _fit),
)
"""The columns behind the engine's name."""

NAME_WIDTH = 9


class CostTable(Phrase):
    """Shows every lane's cost; its height follows the number of lanes."""

    DEFAULT_CSS = """
    CostTable {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 55%;
        padding: 0 1;
    }
    """

    BORDER_TITLE = "what a task costs"

    def show(self, view: LabView, colors: list[str], narrow: bool) -> None:
        """Show all lanes as they are now.

        Args:
            view: the lab at one moment.
            colors: ``#rrggbb``, one a lane.
            narrow: leave out what 80 cells have no room for.
        """
        columns = [column for column in COLUMNS if column.narrow or not narrow]
        heading = f"{'engine':{NAME_WIDTH}}" + "".join(
            f"{column.heading:>{column.width}}" for column in columns
        )
        lines = [Content.styled(heading, "bold $foreground 70%")]
        for lane, color in zip(view.lanes, colors, strict=True):
            name = f"bold {color}" if lane.on or lane.cost else "$foreground 45%"
            cells = "".join(f"{column.text(lane):>{column.width}}" for column in columns)
            lines.append(
                Content.assemble(
                    (f"{lane.name:{NAME_WIDTH}}", name), (cells, "" if lane.on else "$foreground 55%")
                )
            )
        self.say(Content("\n").join(lines))
        self.border_subtitle = self._legend(view)

    @staticmethod
    def _legend(view: LabView) -> str:
        costs = [lane.cost for lane in view.lanes if lane.cost]
        notes = []
        if any(cost.tracing for cost in costs):
            notes.append("ᵗ taken while traced, about twice the RSS: t turns tracing off")
        if any(not cost.clean for cost in costs):
            notes.append("≈ counts memory kept from earlier tasks: off and on for a clean figure")
        return " · ".join(notes)
