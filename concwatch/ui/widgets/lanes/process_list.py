"""The list of watched processes, below their total."""

from collections.abc import Callable, Sequence
from textwrap import wrap

from textual.binding import Binding

from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.resource_status import ResourceKind, ResourceStatus
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import (
    counted,
    format_bytes,
    format_count,
    format_seconds,
    format_short,
)
from concwatch.ui.widgets.lanes.lane_card import MARKS
from concwatch.ui.widgets.lanes.sidebar import Sidebar
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call, end_of

ALL = -1
"""The number that selects all processes together."""

MARK, GAP, RSS = 3, 2, 10
"""The widths in cells of the marks before a name, before the number of tasks, and of the memory."""

LEAST_SHARED = 1 << 20
"""The bytes of shared memory from which on they are shown: a lock of ``multiprocessing`` takes a page."""

INDENT = "    "
"""Before what is known of a process, below its name."""

MOST = 200
"""The maximum number of processes to list."""


LABELS = {
    "observed": "what the agent in a process observes: libraries whose tasks it counts, blocks, timing",
    "PSS": "memory of a process, with each page divided by the number of processes that share it",
    "anonymous": "the part of RSS that belongs to no file: what the program has allocated",
    "file pages": "the part of RSS that are pages of mapped files, which the system may drop",
    "kernel": "what the kernel holds for a process besides RSS: stacks of threads, page tables, sockets",
    "limiter": "the tokens of anyio's limit of threads: used, of all, and tasks that wait for one",
}
"""What the labels of the figures below a process mean."""


def listed(view: Snapshot) -> list[tuple[int, LaneSnapshot]]:
    """Return the listed processes with their numbers, running ones first."""
    lanes = sorted(enumerate(view.lanes), key=lambda one: (not one[1].on, one[0]))
    return lanes[:MOST]


def details(lane: LaneSnapshot) -> Sequence[tuple[str, str]]:
    """Return further figures of a process: labels and texts; those of its tasks only while it runs."""
    status, tick = lane.status, lane.tick if lane.on else None
    rows = [
        ("runtime", status.runtime or ""),
        ("note", status.reason),
        ("observed", " · ".join(status.flags)),
    ]
    if lane.on and lane.sample.pss is not None:
        rows.append(("PSS", format_bytes(lane.sample.pss)))
    process = lane.process if lane.on else None
    if process is not None and process.anonymous is not None and process.file_pages is not None:
        rows.append(("anonymous", format_bytes(process.anonymous)))
        rows.append(("file pages", format_bytes(process.file_pages)))
        shared = process.shared or 0
        rows.append(("shared", format_bytes(shared) if shared >= LEAST_SHARED else ""))
    if lane.on and lane.sample.kernel is not None:
        threads = "" if lane.sample.threads is None else f" · {counted(int(lane.sample.threads), 'thread')}"
        rows.append(("kernel", f"{format_bytes(lane.sample.kernel)}{threads}"))
    if tick is not None:
        rows += [(loop.name, f"lag {format_seconds(loop.lag)}") for loop in tick.loops[:3]]
        rows += [_resource(one) for one in _of(lane, "jobs")[:3]]
        rows += [_resource(one) for one in _of(lane, "executors")[:3] if one.count > 1]
        if tick.limiter is not None:
            used, total, waiting = tick.limiter.used, tick.limiter.total, tick.limiter.waiting
            rows.append(("limiter", f"{used} of {total:g} · {format_count(waiting)} wait"))
        rows += [_resource(one) for one in (*_of(lane, "threads")[:4], *_of(lane, "files")) if one.count]
        retained = counted(tick.retained, "ended task") if tick.retained else ""
        rows += [
            ("retained", retained),
            ("in GC", "" if tick.gc is None else format_seconds(tick.gc)),
            ("traced", "" if tick.traced is None else format_bytes(tick.traced)),
        ]
    return [(label, text) for label, text in rows if text]


def _of(lane: LaneSnapshot, kind: ResourceKind) -> Sequence[ResourceStatus]:
    return [one for one in lane.resources if one.kind == kind]


def _resource(one: ResourceStatus) -> tuple[str, str]:
    """Return the label and the text of what a process holds besides its tasks."""
    count = format_count(one.count)
    text = {
        "threads": f"{counted(one.count, 'thread')}{_created(one)}",
        "jobs": f"{one.threads} threads · {count} queued",
        "executors": f"{count} by {short_place(f'{one.file}:{one.line}')}",
        "files": count,
    }[one.kind]
    grows = "" if one.per_minute is None else f" · +{format_count(round(one.per_minute))}/min"
    labels = {"files": "open files", "executors": "executors"}
    return labels.get(one.kind, one.name.removeprefix("__main__.")), f"{text}{grows}"


def _created(one: ResourceStatus) -> str:
    """Return how many threads were created, if that is more than there are."""
    return f" of ≥{format_count(one.created)}" if one.created and one.created > one.count else ""


class ProcessSidebar(Sidebar):
    """The column that holds the processes."""

    TITLE = "processes"
    SCALED = False


class ProcessList(ClickableLines, can_focus=True):
    """Shows one line for each process. A click selects the process whose groups the table shows."""

    DEFAULT_CSS = """
    ProcessList {
        height: auto;
        padding: 0 0 0 1;
    }
    """

    BINDINGS = [Binding("enter", "screen.press('M')", "What memory is made of", show=False)]

    _shown: tuple[Snapshot, Sequence[str], int] | None = None

    def __init__(self, select: Callable[[int], object]) -> None:
        """Create the list; ``select`` is called with the number of a process, or `ALL`, that is clicked."""
        super().__init__()
        self._select = select

    def show(self, view: Snapshot, colors: Sequence[str], chosen: int) -> None:
        """Show the processes of a snapshot.

        Args:
            view: the snapshot.
            colors: the colour of each process, ``#rrggbb``.
            chosen: the number of the selected process, or `ALL`; its `details` are shown below it.
        """
        self._shown = (view, colors, chosen)
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the line of the total, and one for each process, with what lasts in it below."""
        if self._shown is None:
            return ()
        view, colors, chosen = self._shown

        running = [lane for lane in view.lanes if lane.on]
        live = format_short(sum(lane.live for lane in running))
        tasks = ["" if lane.sample.live is None else format_short(lane.live) for lane in view.lanes]
        wide = GAP + max(map(len, [live, *tasks]))
        room = max(0, width - wide - RSS)

        def line(number: int, color: str, live: str, rss: str, *name: tuple[str, str]) -> Sequence[Cell]:
            mark = ("▌" if number == chosen else " ", color)
            return (
                Cell(room, assemble(mark, *name), call(self._select, number)),
                Cell(wide, assemble(live), right=True),
                Cell(RSS, assemble(rss), right=True),
            )

        total = (f"total of {len(running)}", "bold")
        several = len(view.lanes) > 1
        lines = [line(ALL, "$accent", live, format_bytes(view.total_rss), total)] if several else []
        low = self.screen.has_class("-above")
        for number, lane in listed(view):
            state, style = MARKS[lane.status.state]
            memory = "" if lane.sample.rss is None else format_bytes(lane.sample.rss)
            name = (end_of(lane.name, max(0, room - MARK)), f"bold {colors[number]}" if lane.on else "$dim")
            lines.append(line(number, colors[number], tasks[number], memory, (f"{state[0]} ", style), name))
            lines += [
                (Cell(width, assemble((f"{INDENT}{row}", "$warning"))),)
                for one in lane.status.ongoing
                for row in wrap(one.brief, max(RSS, width - len(INDENT)))
            ]
            if not low and (number == chosen or not several):
                lines += [
                    (Cell(width, assemble((f"    {label[:10]:11}", "$dim"), text)),)
                    for label, text in details(lane)
                ]
        hidden = len(view.lanes) - MOST
        if hidden > 0:
            lines.append((Cell(width, assemble((f"  and {format_count(hidden)} more", "$dim"))),))
        return lines
