"""The screen of a watched program: its processes and groups of tasks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.geometry import Size
from textual.widget import Widget

from concwatch.lab.metrics import LaneSnapshot
from concwatch.lab.snapshot import Snapshot
from concwatch.text import plain
from concwatch.ui import keys
from concwatch.ui.layout import BESIDE_HEIGHT, Layout, layout
from concwatch.ui.screens.lanes import LanesScreen
from concwatch.ui.widgets.group_table import COLUMNS, MOST, GroupTable
from concwatch.ui.widgets.process_list import ALL, ProcessList, ProcessSidebar, listed
from concwatch.ui.widgets.sidebar import Sidebar
from concwatch.units import format_bytes, format_clock, format_count
from concwatch.watch.group import GroupStatus
from concwatch.watch.ranking import identity, merge_groups, ranked
from concwatch.watch.watching import Watching

if TYPE_CHECKING:
    from concwatch.ui.lanes_app import LanesApp

ROWS, FEW_ROWS = 8, 4
"""Rows of the table of groups, and on a low terminal."""

TABLE_HEIGHT = 19
"""The fewest rows of a terminal with a table of groups."""

WAITS_INTERVAL = 2.0
"""Seconds between two requests for where the tasks of a group wait, while that is shown."""

DRAWN = 12
"""Number of processes drawn in the charts: the first in the list."""


class WatchSource:
    """The processes of a watched program, as a `Source`."""

    def __init__(self, watching: Watching) -> None:
        """Create the source of ``watching``, which the caller steps."""
        self._watching = watching
        self.events = watching.events
        self.marks = watching.marks

    def snapshot(self) -> Snapshot:
        """Return the current state of the processes."""
        return self._watching.snapshot()

    def series(self) -> Sequence[Any]:
        """Return the series of each process."""
        return [lane.series for lane in self._watching.lanes]

    @property
    def began(self) -> float:
        """Time of the first sample of any process; infinity before there is one."""
        return min((lane.series.began for lane in self._watching.lanes), default=float("inf"))

    def largest_target(self, lane: int, view: LaneSnapshot) -> int:
        """Return 0: a watched process has no target."""
        return 0


class GroupCommands:
    """The commands for the list of processes and the table of groups."""

    def __init__(self, screen: "GroupView") -> None:
        """Create the commands for ``screen``."""
        self._group_view = screen

    def select_process(self, number: int) -> None:
        """Show the tasks of process ``number``, or of all processes with `ALL`."""
        self._group_view.process = number

    def next_process(self, step: int) -> None:
        """Select the next (1) or previous (-1) process in the list."""
        order = [ALL, *(number for number, _ in listed(self._group_view.snapshot))]
        index = order.index(self._group_view.process) if self._group_view.process in order else 0
        self.select_process(order[(index + step) % len(order)])

    def select_group(self, row: int) -> None:
        """Select a row of the table of groups."""
        self._group_view.select_group(row)
        if self._group_view.waits_shown:
            self.request_waits()

    def next_group(self, step: int) -> None:
        """Select the next (1) or previous (-1) group of the table."""
        last = max(0, len(self._group_view.groups) - 1)
        self.select_group(min(last, max(0, self._group_view.group + step)))

    def sort_by(self, title: str) -> None:
        """Sort the table by a column."""
        self._group_view.sorted_by = title

    def next_column(self, step: int) -> None:
        """Sort by the next (1) or previous (-1) column."""
        titles = [column.title for column in COLUMNS]
        self.sort_by(titles[(titles.index(self._group_view.sorted_by) + step) % len(titles)])

    def toggle_waits(self) -> None:
        """Show or hide where the tasks of the selected group wait."""
        self._group_view.waits_shown = not self._group_view.waits_shown
        if self._group_view.waits_shown:
            self.request_waits()

    def request_waits(self) -> None:
        """Request where the tasks of the selected group wait; a recording ignores it."""

    def ask_filter(self) -> None:
        """Ask for a text, and show only groups whose name or file contains it."""
        self._group_view.ask(
            partial(setattr, self._group_view, "filter_text"),
            "show groups whose name or file contains",
            self._group_view.filter_text,
            str.strip,
            lambda text: f'"{text}"' if text else "all groups",
        )


class WatchCommands(GroupCommands):
    """The commands for a watched program."""

    def __init__(self, watching: Watching, screen: "GroupView", output: Path | None) -> None:
        """Create the commands for ``watching``; dialogs are opened on ``screen``."""
        super().__init__(screen)
        self._watching = watching
        self._output = output

    def request_waits(self) -> None:
        """Request from every process with the selected group where its tasks wait."""
        screen = self._group_view
        if not 0 <= screen.group < len(screen.groups):
            return
        selected = identity(screen.groups[screen.group])
        for lane in self._watching.alive:
            for number, group in lane.groups.items():
                if identity(group.report) == selected:
                    lane.send("waits", group=number)

    def toggle_outcomes(self) -> None:
        """Start or stop counting how tasks end."""
        self._watching.set_option("outcomes")

    def toggle_trace(self) -> None:
        """Start or stop tracing allocations."""
        self._watching.set_option("trace")

    def ask_note(self) -> None:
        """Ask for a note and mark the current moment with it."""
        moment = self._watching.clock()
        self._group_view.ask(
            lambda text: self._watching.add_note(text, moment),
            f"a note for {format_clock(moment - self._watching.began)}",
            "",
            str.strip,
            lambda text: f'"{text}"' if text else "a mark without a note",
        )

    def show_output(self) -> None:
        """Show the program's output."""
        from concwatch.ui.screens.text_dialog import TextDialog, tail  # not needed for the first frame

        path = self._output
        dialog = TextDialog("output of the program", str(path or ""), lambda: tail(path), at_end=True)
        self._group_view.app.push_screen(dialog)

    def show_allocations(self) -> None:
        """Show the lines that hold traced memory, and how much it has grown since the last time."""
        from concwatch.ui.screens.text_dialog import TextDialog, traced_text

        traced = [lane for lane in self._watching.alive if lane.tick and lane.tick.traced is not None]
        for lane in traced:
            lane.lines = None
            lane.send("lines")

        def text() -> str:
            if not traced:
                return "nothing is traced: press t to start tracing"
            return traced_text((lane.name, lane.lines) for lane in traced) or "taking a snapshot …"

        dialog = TextDialog("lines that hold traced memory", "grown: since they were last shown", text)
        self._group_view.app.push_screen(dialog)


class GroupView(LanesScreen):
    """Shows processes and the groups of their tasks, which subclasses provide."""

    SIDEBAR = ProcessSidebar

    process = ALL
    """Number of the selected process, or `ALL`."""
    groups: Sequence[GroupStatus] = ()
    """The groups of the table, in its order."""
    group = 0
    """Index of the selected group."""
    sorted_by = COLUMNS[0].title
    filter_text = ""
    """Only groups whose name or file contains this are shown."""
    waits_shown = False
    """Whether the table shows where the selected group's tasks wait."""
    _selected_group: tuple[str, str, int] | None = None
    """Identity of the selected group; None for the first."""

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process."""
        raise NotImplementedError

    def details_of(self, lane: int) -> Sequence[tuple[str, str]]:
        """Return labels and texts about a process."""
        return ()

    def select_group(self, row: int) -> None:
        """Select the group in a row of the table; it stays selected when the order changes."""
        if 0 <= row < len(self.groups):
            self.group, self._selected_group = row, identity(self.groups[row])

    group_commands: GroupCommands
    """The commands for the processes and the groups."""

    def side_widgets(self) -> Iterable[Widget]:
        """Return the list of processes."""
        return [ProcessList(self.group_commands.select_process)]

    def table(self) -> Widget:
        """Return the table of groups."""
        return GroupTable(self.group_commands.select_group, self.group_commands.sort_by)

    def charted_lanes(self, snapshot: Snapshot) -> Iterable[int]:
        """Return the selected process, or the first in the list."""
        if self.process != ALL:
            return [self.process]
        return sorted(number for number, _ in listed(snapshot)[:DRAWN])

    def layout_of(self, size: Size) -> Layout:
        """Return the layout for a terminal of ``size``, with room for one line of a lane."""
        return layout(size.width, size.height, 1, self.BARS)

    def place_side(self, found: Layout) -> None:
        """Set the columns of the list of processes; its rows are in the style sheet."""
        self.query_one(Sidebar).styles.width = found.side if found.beside else "100%"

    def place_table(self, found: Layout) -> None:
        """Leave the table as high as its groups, and leave it out on the smallest terminals."""
        self.query_one(GroupTable).display = self.app.size.height >= TABLE_HEIGHT

    def show_lanes(self, snapshot: Snapshot) -> None:
        """Update the list of processes."""
        number = 0 if len(snapshot.lanes) == 1 else self.process
        details = self.details_of(number) if 0 <= number < len(snapshot.lanes) else ()
        self.query_one(ProcessList).show(snapshot, self._colors, self.process, details)
        self.query_one(Sidebar).set_subtitle(format_bytes(snapshot.total_rss))

    def show_table(self, snapshot: Snapshot) -> None:
        """Update the table with the groups of the selected process, or of all."""
        running = [number for number, lane in enumerate(snapshot.lanes) if lane.on]
        lanes = running if self.process == ALL else [self.process]
        value = next(column.value for column in COLUMNS if column.title == self.sorted_by)
        groups = merge_groups(group for lane in lanes for group in self.groups_of(lane))
        self.groups = ranked(groups, value, self.filter_text, MOST)
        rows_of = {identity(group): row for row, group in enumerate(self.groups)}
        self.group = rows_of.get(self._selected_group, 0) if self._selected_group else 0
        rows = ROWS if self.app.size.height >= BESIDE_HEIGHT else FEW_ROWS
        note = f'filter "{plain(self.filter_text)}"' if self.filter_text else ""
        if len(self.groups) > rows:
            note = f"{note + ' · ' if note else ''}{format_count(self.group + 1)} of {len(self.groups)}"
        self.query_one(GroupTable).show(self.groups, self.sorted_by, self.group, rows, self.waits_shown, note)


class WatchScreen(GroupView):
    """Shows the processes of a watched program."""

    BINDINGS = keys.bindings(keys.WATCH)
    SUBJECT = "whose tasks are they, and which grow?"
    MOUSE = "Click a process to see only its tasks, a heading to sort by it, or a group to select it."
    AUTO_FOCUS = ""

    def __init__(
        self,
        app: "LanesApp",
        watching: Watching,
        size: Size,
        status_text: Callable[[], str],
        output: Path | None,
    ) -> None:
        """Create the screen.

        Args:
            app: the app that shows it.
            watching: the program, which the caller steps.
            size: the terminal's initial size, in cells.
            status_text: returns what else is running, for the status bar.
            output: the file with the program's output; None if it was started elsewhere.
        """
        super().__init__(WatchSource(watching), size, status_text, partial(watching.log, ""))
        self.commands = self.group_commands = WatchCommands(watching, self, output)
        parts = keys.WatchKeys(app, self, self.charts, self.commands, self.commands)
        self.keyboard = keys.Keyboard(keys.WATCH, parts)
        self._watching = watching

    def on_mount(self) -> None:
        """Start observing the program."""
        self._watching.viewers.append(self)
        self.set_interval(WAITS_INTERVAL, self._refresh_waits)

    def _refresh_waits(self) -> None:
        if self.waits_shown:
            self.commands.request_waits()

    def on_unmount(self) -> None:
        """Stop observing the program."""
        self._watching.viewers.remove(self)

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the current groups of a process."""
        return [group.status for group in self._watching.lanes[lane].groups.values()]

    def details_of(self, lane: int) -> Sequence[tuple[str, str]]:
        """Return labels and texts from the agent of a process."""
        return self._watching.lanes[lane].details()
