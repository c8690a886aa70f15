"""The keys of every screen, a row each: bindings, the bar, the help and the palette come from it.

Longer than other files because it is one table.
"""

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import NamedTuple

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from concwatch.ui.widgets.key_bar import Key
from concwatch.ui.widgets.lane_card import STEP
from concwatch.ui.widgets.text_lines import do


class Row(NamedTuple):
    """A key, what it runs, and what is said of it."""

    keys: str
    """Textual's names of it, separated by commas; empty for what another part binds."""
    action: str
    """The action it runs: the screen's, or with ``app.`` the app's."""
    shown: str = ""
    """How it is written; rows next to each other with the same help share a line there."""
    help: str = ""
    """What it does, for the help and the palette; empty to leave it out of both."""
    bar: str = ""
    """What it does in a word, for the bar; empty to leave it out there."""
    rank: int = 0
    """Its place in the bar, which shows as many as it has room for, the lowest first."""
    title: str = ""
    """Its name in the palette; empty to leave it out there."""
    always: bool = False
    """Whether the bar shows it also where there is room for little."""

    @property
    def from_anywhere(self) -> str:
        """The action as a click on a widget runs it."""
        return self.action if self.action.startswith("app.") else f"screen.{self.action}"


def bindings(rows: Iterable[Row]) -> list[BindingType]:
    """Return the bindings of a screen with these keys."""
    return [
        Binding(row.keys, row.action, row.title or row.help, show=False, key_display=row.shown or None)
        for row in rows
        if row.keys
    ]


def bar(rows: Iterable[Row]) -> list[Key]:
    """Return what the bar at the bottom shows, in its order."""
    shown = sorted((row for row in rows if row.bar), key=lambda row: row.rank)
    return [Key(row.shown, row.bar, row.from_anywhere, row.always) for row in shown]


def help_lines(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Return the lines of the help: keys, and what they do."""
    told = groupby((row for row in rows if row.help), key=lambda row: row.help)
    return [(" ".join(row.shown for row in same), text) for text, same in told]


def palette(rows: Iterable[Row], screen: Screen[object]) -> Iterable[SystemCommand]:
    """Yield what the command palette offers on ``screen``."""
    for row in rows:
        if row.title:
            text = row.help[:1].upper() + row.help[1:]
            yield SystemCommand(row.title, text, partial(screen.run_action, row.action))


LANES = (
    Row("1", do("choose", 0), "1 … 9", "choose a lane; the next keys act on it"),
    *(Row(str(number), do("choose", number - 1)) for number in range(2, 10)),
)

CHARTS = (
    Row("left_square_bracket", do("change_window", -1), "[", "time window of the charts: shorter, longer"),
    Row(
        "right_square_bracket",
        do("change_window", 1),
        "]",
        "time window of the charts: shorter, longer",
        "window",
        80,
    ),
    Row("l", do("logarithmic"), "l", "logarithmic y axis", "log", 81, "Logarithmic axis"),
    Row("c", do("next_chart"), "c", "next chart; one chart large"),
    Row("z", do("zoom"), "z", "next chart; one chart large", title="One chart"),
    Row(
        "",
        "",
        "tab ← →",
        "to a chart, and move a cursor over all charts, as the mouse does: the values of that moment",
    ),
    Row(
        "b",
        do("baseline"),
        "b",
        "baseline: compare the cost table with the present figures, or no more",
        title="Baseline",
    ),
)

PICTURES = (
    Row(
        "s",
        "app.save_picture",
        "s",
        "save a screenshot of the screen",
        bar="shot",
        rank=60,
        title="Screenshot",
    ),
    Row(
        "S",
        "app.save_chart",
        "S",
        "save a screenshot of one chart: the one in focus, or the first",
        title="Chart screenshot",
    ),
)

GENERAL = (
    Row("", "app.command_palette", "^p", "command palette: themes and everything else", "palette", 70),
    Row("question_mark", do("help"), "?", "the keys, and what the words mean", "help", 50, "Help", True),
)

MONITOR = (
    *LANES,
    Row("space", do("switch"), "space", "switch the lane on or off", "on/off", 1),
    Row("", "", "← →", "move its slider one stop; shift: finer; home, end: both ends"),
    Row("plus,equals_sign", do("move", STEP), "+", "10,000 tasks more or fewer", "10k", 2),
    Row("minus,underscore", do("move", -STEP), "−", "10,000 tasks more or fewer", "10k", 3),
    Row(
        "enter",
        do("number"),
        "⏎",
        "type how many tasks the lane is to hold",
        "number",
        4,
        title="Exact number",
    ),
    Row("0", do("stop_all"), "0", "stop all lanes", "stop all", 5, "Stop all"),
    Row("w", do("workload"), "w", "choose the workload: what each task does", "workload", 6, "Workload"),
    Row("a", do("again"), "a", "again: with refill off, start the last target once more", title="Again"),
    Row("f", do("refill"), "f", "refill: replace tasks that end, or start a target once", title="Refill"),
    Row(
        "t",
        do("trace"),
        "t",
        "trace allocations (tracemalloc): about twice the memory, a third of the speed",
        "trace",
        62,
        "Trace",
    ),
    Row("g", do("collector"), "g", "garbage collector: default, frozen, off", "collector", 63, "Collector"),
    Row("u", do("trim"), "u", "trim: collect, and give memory back to the system", title="Trim"),
    Row("n", do("threads"), "n", "how many threads the pool has", title="Pool threads"),
    Row(
        "i",
        do("how"),
        "i",
        "how the lane is measured: what a task is there, what its figures contain",
        title="How it is measured",
    ),
    Row("h", do("fold"), "h", "hosts: an engine's lanes by themselves, or in one row", title="Fold hosts"),
    Row(
        "v",
        do("evenly"),
        "v",
        "split a target over hosts evenly, or by what each can hold",
        title="Split evenly",
    ),
    Row(
        "d",
        do("spread"),
        "d",
        "charts of folded hosts: their sum, or the median and the band in which all lie",
        title="Distribution over hosts",
    ),
    Row("less_than_sign", do("sort", -1), "<", "sort the table by the column before, by the next"),
    Row("greater_than_sign", do("sort", 1), ">", "sort the table by the column before, by the next"),
    *CHARTS,
    Row("p", do("pause"), "p", "pause the charts; collecting goes on", title="Pause charts"),
    Row(
        "m",
        do("mark"),
        "m",
        "mark this moment on the charts, with a note; commands mark themselves (▴)",
        title="Mark",
    ),
    Row(
        "r",
        "app.record",
        "r",
        "record the session into a file, or end that: concwatch replay FILE shows it again",
        "record",
        61,
        "Record",
    ),
    Row(
        "e",
        "app.experiments",
        "e",
        "experiments: published measurements, repeated on this machine",
        "experiments",
        55,
        "Experiments",
    ),
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "q", "quit; every worker ends", "quit", 51, always=True),
)
"""The keys of the live lanes."""

_REPLAY = (
    Row(
        "space",
        do("play"),
        "space",
        "play or pause; at the end: play from the beginning",
        "play",
        1,
        "Play or pause",
    ),
    Row("p", do("play"), "p", "play or pause; at the end: play from the beginning"),
    Row("left", do("go", -1), "←", "one second back, on; shift: ten", "1 s", 2),
    Row("right", do("go", 1), "→", "one second back, on; shift: ten", "1 s", 3),
    Row("shift+left", do("go", -10)),
    Row("shift+right", do("go", 10)),
    Row(
        "comma,ctrl+left",
        do("step", -1),
        ",",
        "one sample back, on, and pause; so do ctrl+← ctrl+→",
        "sample",
        56,
    ),
    Row(
        "full_stop,ctrl+right",
        do("step", 1),
        ".",
        "one sample back, on, and pause; so do ctrl+← ctrl+→",
        "sample",
        57,
    ),
    Row(
        "less_than_sign",
        do("speed", -1),
        "<",
        "slower, faster: from a tenth to a hundred times the speed",
        "slower",
        4,
    ),
    Row(
        "greater_than_sign",
        do("speed", 1),
        ">",
        "slower, faster: from a tenth to a hundred times the speed",
        "faster",
        5,
    ),
    Row("home", do("beginning"), "home", "to the beginning, to the end", title="Beginning"),
    Row("end", do("end"), "end", "to the beginning, to the end", title="End"),
    Row("j", do("jump"), "j", 'jump to a moment: "1:23", "83.5s", "50%"', "jump", 7, "Jump"),
    Row("n", do("next_mark", 1), "n", "to the next mark, to the one before", "mark", 6),
    Row("N", do("next_mark", -1), "N", "to the next mark, to the one before"),
    *LANES,
    *CHARTS,
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "q", "quit", "quit", 51, always=True),
)

LIVE_ONLY = sorted(
    {key for row in MONITOR for key in row.keys.split(",")}
    - {key for row in _REPLAY for key in row.keys.split(",")}
    - {"e"}
)
"""Keys that change something among live lanes, and can change nothing in a recording."""

REPLAY = (*_REPLAY, Row(",".join(LIVE_ONLY), do("refuse")))
"""The keys of a recording that is played."""

WATCH = (
    Row("up", do("next_group", -1), "↑", "choose a group of tasks"),
    Row("down", do("next_group", 1), "↓", "choose a group of tasks"),
    Row("", do("next_group", 1), "↑↓", "", "group", 1),
    Row("enter", do("waits"), "⏎", "where the group's tasks wait", "where they wait", 2, "Where tasks wait"),
    Row("less_than_sign", do("next_column", -1), "<", "sort by the column before, by the next"),
    Row("greater_than_sign", do("next_column", 1), ">", "sort by the column before, by the next"),
    Row("", do("next_column", 1), "< >", "", "sort", 3),
    Row("slash", do("filter"), "/", "filter the groups by words", "filter", 4, "Filter groups"),
    Row("n", do("next_process", 1), "n", "next process, previous one", "process", 5),
    Row("N", do("next_process", -1), "N", "next process, previous one"),
    Row("o", do("output"), "o", "what the program writes", "output", 6, "Output"),
    Row("x", do("outcomes"), "x", "count how tasks end: failed tasks get a column", title="Outcomes"),
    Row("t", do("trace"), "t", "trace allocations (tracemalloc)", title="Trace"),
    Row("a", do("allocations"), "a", "the lines that hold traced memory, and what grew", title="Allocations"),
    *CHARTS[:-1],
    Row("p", do("pause"), "p", "pause the charts; collecting goes on", title="Pause charts"),
    Row("m", do("mark"), "m", "mark this moment on the charts, with a note", title="Mark"),
    Row(
        "r",
        "app.record",
        "r",
        "record the session into a file, or end that: concwatch replay FILE shows it again",
        "record",
        61,
        "Record",
    ),
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "q", "quit; the program is asked to end", "quit", 51, always=True),
)
"""The keys of a watched program."""

WATCH_REPLAY = (
    *_REPLAY,
    Row("up", do("next_group", -1), "↑", "choose a group of tasks"),
    Row("down", do("next_group", 1), "↓", "choose a group of tasks"),
    Row("enter", do("waits"), "⏎", "where the group's tasks waited, where that was asked"),
    Row("o", do("next_column", 1), "o", "sort the groups by the next column", "sort", 58),
    Row("slash", do("filter"), "/", "filter the groups by words", "filter", 59, "Filter groups"),
    Row("x", do("next_process", 1), "x", "next process", "process", 60),
)
"""The keys of a recording of a watched program."""

EXPERIMENTS = (
    Row("up", "move(-1)", "↑", "choose an experiment"),
    Row("down", "move(1)", "↓", "choose an experiment"),
    Row("", "move(1)", "↑↓", "", "choose", 4),
    Row("enter", "run", "⏎", "run it; it goes on when you leave this screen", "run", 1, "Run"),
    Row("x", "stop", "x", "stop it; what has been measured stays", "stop", 2, "Stop"),
    Row("k", "quick", "k", "quick: fewer sizes, each once", "quick", 3, "Quick"),
    Row("left,left_square_bracket", "turn(-1)", "←", "the experiment's other tables; so do [ ]"),
    Row("right,right_square_bracket", "turn(1)", "→", "the experiment's other tables; so do [ ]"),
    Row("", "turn(1)", "←→", "", "table", 5),
    Row("pageup", "scroll_table(-1)", "page up", "scroll the table"),
    Row("pagedown", "scroll_table(1)", "down", "scroll the table"),
    Row(
        "c", "next_pane", "c", "table, chart by size, RSS: the next, where one at a time is shown", "chart", 7
    ),
    Row(
        "d", "details", "d", "source, machine and method, and a note on each table", "details", 51, "Details"
    ),
    Row(
        "0",
        "stop_lanes",
        "0",
        "stop all lanes of the monitor: they share the machine with what is measured",
        "stop lanes",
        62,
    ),
    *PICTURES,
    Row("", "app.command_palette", "^p", "command palette: themes and everything else", "palette", 70),
    Row("question_mark", "help", "?", "the keys, and what the words mean", "help", 50),
    Row("escape", "back", "esc", "back to the monitor", "back", 6, "Monitor"),
    Row("e", "back", "e", "back to the monitor"),
)
"""The keys of the experiments."""

READING = (
    Row("escape,question_mark,q,d", "dismiss(None)"),
    Row("s", "app.save_picture"),
)
"""The keys of a dialog in which there is only something to read."""
