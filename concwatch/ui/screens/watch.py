"""The processes of a watched program, and whose tasks they run."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from concwatch.lab.snapshot import Snapshot
from concwatch.text import plain
from concwatch.ui import keys
from concwatch.ui.screens.lanes import LanesScreen
from concwatch.ui.widgets.group_table import COLUMNS, MOST, GroupTable
from concwatch.ui.widgets.process_list import ALL, ProcessList, ProcessSidebar, listed
from concwatch.ui.widgets.sidebar import Sidebar
from concwatch.units import format_bytes, format_clock, format_count
from concwatch.watch.group import GroupStatus
from concwatch.watch.ranking import identity, merge_groups, ranked
from concwatch.watch.watching import Watching

ROWS, FEW_ROWS = 8, 4
"""Groups that the table has room for, and on a low terminal."""

ASK = 2.0
"""Seconds between two questions where the tasks of a group wait, while that is shown."""

DRAWN = 12
"""Processes that have lines in the charts: the first that are listed."""


class WatchSource:
    """The processes of a watched program, as a `Source`."""

    def __init__(self, watching: Watching) -> None:
        """Show ``watching``, which somebody else steps."""
        self._watching = watching
        self.events = watching.events
        self.marks = watching.marks

    def snapshot(self) -> Snapshot:
        """Return the processes as they are now."""
        return self._watching.snapshot()

    def series(self) -> Sequence[Any]:
        """Return the series of each process."""
        return [lane.series for lane in self._watching.lanes]

    @property
    def began(self) -> float:
        """When the first process was looked at."""
        return min((lane.series.began for lane in self._watching.lanes), default=float("inf"))

    def largest_target(self, lane: int) -> int:
        """Return 0: a watched process has no target."""
        return 0


class GroupControls:
    """What a person does to a list of processes and a table of groups."""

    def __init__(self, screen: "GroupView") -> None:
        """Act on ``screen``."""
        self._view = screen

    def choose_process(self, number: int) -> None:
        """Show the tasks of process ``number``, or of all."""
        self._view.process = number

    def next_process(self, step: int) -> None:
        """Choose the next process that is listed, or the one before."""
        order = [ALL, *(number for number, _ in listed(self._view.view))]
        place = order.index(self._view.process) if self._view.process in order else 0
        self.choose_process(order[(place + step) % len(order)])

    def choose_group(self, place: int) -> None:
        """Have the keys act on the group at a place of the table."""
        self._view.choose_group(place)
        if self._view.opened:
            self.ask_where()

    def next_group(self, step: int) -> None:
        """Choose the next group of the table, or the one before."""
        last = max(0, len(self._view.groups) - 1)
        self.choose_group(min(last, max(0, self._view.group + step)))

    def sort_by(self, title: str) -> None:
        """Sort the table by a column."""
        self._view.sorted_by = title

    def next_column(self, step: int) -> None:
        """Sort by the next column, or by the one before."""
        titles = [column.title for column in COLUMNS]
        self.sort_by(titles[(titles.index(self._view.sorted_by) + step) % len(titles)])

    def waits(self) -> None:
        """Show where the tasks of the chosen group wait, or no more."""
        screen = self._view
        screen.opened = not screen.opened
        if screen.opened:
            self.ask_where()

    def ask_where(self) -> None:
        """Ask where the tasks of the chosen group wait, where there is somebody to ask."""

    def filter(self) -> None:
        """Ask for words, and show the groups in whose name or file they stand."""

        self._view.ask(
            partial(setattr, self._view, "words"),
            "show groups whose name or file contains",
            self._view.words,
            str.strip,
            lambda words: f'"{words}"' if words else "all groups",
        )


class WatchControls(GroupControls):
    """What a person does to a watched program, too."""

    def __init__(self, watching: Watching, screen: "WatchScreen") -> None:
        """Act on ``watching``, and ask on ``screen`` what has to be asked."""
        super().__init__(screen)
        self._watching = watching
        self._output = screen

    def ask_where(self) -> None:
        """Ask every agent that has the chosen group where its tasks wait."""
        screen = self._view
        if not 0 <= screen.group < len(screen.groups):
            return
        wanted = identity(screen.groups[screen.group])
        for lane in self._watching.alive:
            for number, group in lane.groups.items():
                if identity(group.report) == wanted:
                    lane.send("waits", group=number)

    def outcomes(self) -> None:
        """Count how tasks end, from now on, or no more."""
        self._watching.set_option("outcomes")

    def trace(self) -> None:
        """Trace allocations, or no more."""
        self._watching.set_option("trace")

    def mark(self) -> None:
        """Mark this moment, with a note."""
        moment = self._watching.clock()

        self._view.ask(
            lambda text: self._watching.note(text, moment),
            f"a note for {format_clock(moment - self._watching.began)}",
            "",
            str.strip,
            lambda text: f'"{text}"' if text else "a mark without words",
        )

    def output(self) -> None:
        """Show what the program writes."""
        from concwatch.ui.screens.text_dialog import TextDialog, last_of  # the first frame can do without

        path = self._output.output
        self._show(TextDialog("output of the program", str(path or ""), lambda: last_of(path), at_end=True))

    def allocations(self) -> None:
        """Show which lines hold traced memory, and how much that has grown since they were shown last."""
        from concwatch.ui.screens.text_dialog import TextDialog, traced_text

        traced = [lane for lane in self._watching.alive if lane.tick and lane.tick.traced is not None]
        for lane in traced:
            lane.lines = None
            lane.send("lines")

        def text() -> str:
            if not traced:
                return "nothing is traced: t traces allocations from then on"
            return traced_text((lane.name, lane.lines) for lane in traced) or "taking a snapshot …"

        self._show(TextDialog("lines that hold traced memory", "grown: since they were shown last", text))

    def _show(self, dialog: Screen[None]) -> None:
        self._view.app.push_screen(dialog)


class GroupView(LanesScreen):
    """Shows processes, and the groups of their tasks; what those are is for those who inherit."""

    SIDE = ProcessSidebar

    process = ALL
    """The number of the process whose tasks are shown."""
    groups: Sequence[GroupStatus] = ()
    """The groups of the table, in its order."""
    group = 0
    """The place of the one that the keys act on."""
    sorted_by = COLUMNS[0].title
    words = ""
    """What the groups are filtered by."""
    opened = False
    """Whether it is shown where the chosen group's tasks wait."""
    _chosen: tuple[str, str, int] | None = None
    """Which group the keys act on; None for the first."""

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process."""
        raise NotImplementedError

    def details_of(self, lane: int) -> Sequence[tuple[str, str]]:
        """Return what else is known of a process: labels and texts."""
        return ()

    def choose_group(self, place: int) -> None:
        """Have the keys act on the group at a place of the table, wherever it then goes."""
        if 0 <= place < len(self.groups):
            self.group, self._chosen = place, identity(self.groups[place])

    def side(self) -> Iterable[Widget]:
        """Return the list of processes."""
        return [ProcessList()]

    def table(self) -> Widget:
        """Return the table of groups."""
        return GroupTable()

    def drawn(self, view: Snapshot) -> Iterable[int]:
        """Return the process that is chosen, or the first that are listed, in their order."""
        if self.process != ALL:
            return [self.process]
        return sorted(number for number, _ in listed(view)[:DRAWN])

    def show_lanes(self, view: Snapshot) -> None:
        """Have the list show a snapshot."""
        number = 0 if len(view.lanes) == 1 else self.process
        known = self.details_of(number) if 0 <= number < len(view.lanes) else ()
        self.query_one(ProcessList).show(view, self._colors, self.process, known)
        self.query_one(Sidebar).set_subtitle(format_bytes(view.total_rss))

    def show_table(self, view: Snapshot) -> None:
        """Have the table show the groups of the chosen process, or of all."""
        chosen = range(len(view.lanes)) if self.process == ALL else [self.process]
        value = next(column.value for column in COLUMNS if column.title == self.sorted_by)
        found = merge_groups(group for lane in chosen for group in self.groups_of(lane))
        self.groups = ranked(found, value, self.words, MOST)
        places = {identity(group): place for place, group in enumerate(self.groups)}
        self.group = places.get(self._chosen, 0) if self._chosen else 0
        rows = FEW_ROWS if self.has_class("-short", "-tiny") else ROWS
        note = f'filter "{plain(self.words)}"' if self.words else ""
        if len(self.groups) > rows:
            note = f"{note + ' · ' if note else ''}{format_count(self.group + 1)} of {len(self.groups)}"
        self.query_one(GroupTable).show(self.groups, self.sorted_by, self.group, rows, self.opened, note)


class WatchScreen(GroupView):
    """Shows the processes of a watched program."""

    KEYS = keys.WATCH
    BINDINGS = keys.bindings(keys.WATCH)
    SUBJECT = "whose tasks are they, and which grow?"
    MOUSE = "Click a process to see its tasks alone, a heading to sort by it, a group to choose it."
    AUTO_FOCUS = ""

    def __init__(self, watching: Watching, size: Size, aside: Callable[[], str], output: Path | None) -> None:
        """Show ``watching``, which somebody else steps.

        Args:
            watching: the program.
            size: of the terminal at first, in cells.
            aside: says in a few words what else there is to know.
            output: the file that holds what the program writes; None where it is not ours.
        """
        super().__init__(WatchSource(watching), size, aside, watching.tell)
        self.controls = self._controls = WatchControls(watching, self)
        self.output = output
        self._watching = watching

    def on_mount(self) -> None:
        """Follow the program's steps."""
        self._watching.observers.append(self.follow)
        self.set_interval(ASK, self._ask_again)

    def _ask_again(self) -> None:
        if self.opened:
            self._controls.ask_where()

    def on_unmount(self) -> None:
        """Follow them no more."""
        self._watching.observers.remove(self.follow)

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process as they are now."""
        return [group.status for group in self._watching.lanes[lane].groups.values()]

    def details_of(self, lane: int) -> Sequence[tuple[str, str]]:
        """Return further figures of a process."""
        return self._watching.lanes[lane].details()
