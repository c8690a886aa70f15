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

SIGNS = {
    "left": "←", "right": "→", "up": "↑", "down": "↓", "enter": "⏎", "escape": "esc", "pageup": "page up",
    "pagedown": "down", "plus": "+", "minus": "−", "comma": ",", "full_stop": ".", "slash": "/",
    "question_mark": "?", "less_than_sign": "<", "greater_than_sign": ">", "left_square_bracket": "[",
    "right_square_bracket": "]",
}  # fmt: skip
"""How keys are written, where that is not Textual's name of them."""


class Row(NamedTuple):
    """A key, what it runs, and what is said of it."""

    keys: str
    """Textual's names of it, separated by commas; empty for what another part binds."""
    action: str
    """The action it runs: the screen's, or with ``app.`` the app's."""
    help: str = ""
    """What it does, for the help and the palette; empty to leave it out of both.

    Rows next to each other with the same help share a line there.
    """
    bar: str = ""
    """What it does in a word, for the bar; empty to leave it out there."""
    rank: int = 0
    """Its place in the bar, which shows as many as it has room for, the lowest first."""
    title: str = ""
    """Its name in the palette; empty to leave it out there."""
    sign: str = ""
    """How it is written, where `SIGNS` does not tell."""
    always: bool = False
    """Whether the bar shows it also where there is room for little."""

    @property
    def shown(self) -> str:
        """How it is written: the first of its keys."""
        first = self.keys.partition(",")[0]
        return self.sign or SIGNS.get(first, first)

    @property
    def from_anywhere(self) -> str:
        """The action as a click on a widget runs it."""
        return self.action if self.action.startswith("app.") else f"screen.{self.action}"


def bindings(rows: Iterable[Row]) -> list[BindingType]:
    """Return the bindings of a screen with these keys."""
    return [
        Binding(row.keys, row.action, row.title or row.help, show=False, key_display=row.shown)
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


def pair(help: str, *rows: Row) -> tuple[Row, ...]:
    """Return rows that share a line of the help."""
    return tuple(row._replace(help=help) for row in rows)


LANES = (
    Row("1", do("choose", 0), "choose a lane; the next keys act on it", sign="1 … 9"),
    *(Row(str(number), do("choose", number - 1)) for number in range(2, 10)),
)

CHARTS = (
    *pair(
        "time window of the charts: shorter, longer",
        Row("left_square_bracket", do("change_window", -1)),
        Row("right_square_bracket", do("change_window", 1), bar="window", rank=80),
    ),
    Row("l", do("logarithmic"), "logarithmic y axis", "log", 81, "Logarithmic axis"),
    *pair(
        "next chart; one chart large",
        Row("c", do("next_chart")),
        Row("z", do("zoom"), title="One chart"),
    ),
    Row(
        "", "", "to a chart, and move a cursor over all charts, as the mouse does: the values of that moment",
        sign="tab ← →",
    ),
)  # fmt: skip

BASELINE = Row(
    "b", do("baseline"), "baseline: compare the cost table with the present figures, or no more",
    title="Baseline",
)  # fmt: skip

PICTURES = (
    Row("s", "app.save_picture", "save a screenshot of the screen", "shot", 60, "Screenshot"),
    Row(
        "S", "app.save_chart", "save a screenshot of one chart: the one in focus, or the first",
        title="Chart screenshot",
    ),
)  # fmt: skip

PALETTE = Row(
    "", "app.command_palette", "command palette: themes and everything else", "palette", 70, sign="^p"
)
HELP = "the keys, and what the words mean"
GENERAL = (PALETTE, Row("question_mark", do("help"), HELP, "help", 50, "Help", always=True))

PAUSE = Row("p", do("pause"), "pause the charts; collecting goes on", title="Pause charts")

RECORD = Row(
    "r", "app.record", "record the session into a file, or end that: concwatch replay FILE shows it again",
    "record", 61, "Record",
)  # fmt: skip

MONITOR = (
    *LANES,
    Row("space", do("switch"), "switch the lane on or off", "on/off", 1),
    Row("", "", "move its slider one stop; shift: finer; home, end: both ends", sign="← →"),
    *pair(
        "10,000 tasks more or fewer",
        Row("plus,equals_sign", do("move", STEP), bar="10k", rank=2),
        Row("minus,underscore", do("move", -STEP), bar="10k", rank=3),
    ),
    Row("enter", do("number"), "type how many tasks the lane is to hold", "number", 4, "Exact number"),
    Row("0", do("stop_all"), "stop all lanes", "stop all", 5, "Stop all"),
    Row("w", do("workload"), "choose the workload: what each task does", "workload", 6, "Workload"),
    Row("a", do("again"), "again: with refill off, start the last target once more", title="Again"),
    Row("f", do("refill"), "refill: replace tasks that end, or start a target once", title="Refill"),
    Row(
        "t", do("trace"), "trace allocations (tracemalloc): about twice the memory, a third of the speed",
        "trace", 62, "Trace",
    ),
    Row("g", do("collector"), "garbage collector: default, frozen, off", "collector", 63, "Collector"),
    Row("u", do("trim"), "trim: collect, and give memory back to the system", title="Trim"),
    Row("n", do("threads"), "how many threads the pool has", title="Pool threads"),
    Row(
        "i", do("how"), "how the lane is measured: what a task is there, what its figures contain",
        title="How it is measured",
    ),
    Row("h", do("fold"), "hosts: an engine's lanes by themselves, or in one row", title="Fold hosts"),
    Row(
        "v", do("evenly"), "split a target over hosts evenly, or by what each can hold", title="Split evenly"
    ),
    Row(
        "d", do("spread"), "charts of folded hosts: their sum, or the median and the band in which all lie",
        title="Distribution over hosts",
    ),
    *pair(
        "sort the table by the column before, by the next",
        Row("less_than_sign", do("sort", -1)),
        Row("greater_than_sign", do("sort", 1)),
    ),
    *CHARTS,
    BASELINE,
    PAUSE,
    Row(
        "m", do("mark"), "mark this moment on the charts, with a note; commands mark themselves (▴)",
        title="Mark",
    ),
    RECORD,
    Row(
        "e", "app.experiments", "experiments: published measurements, repeated on this machine",
        "experiments", 55, "Experiments",
    ),
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "quit; every worker ends", "quit", 51, always=True),
)  # fmt: skip
"""The keys of the live lanes."""

_REPLAY = (
    *pair(
        "play or pause; at the end: play from the beginning",
        Row("space", do("play"), bar="play", rank=1, title="Play or pause"),
        Row("p", do("play")),
    ),
    *pair(
        "one second back, on; shift: ten",
        Row("left", do("go", -1), bar="1 s", rank=2),
        Row("right", do("go", 1), bar="1 s", rank=3),
    ),
    Row("shift+left", do("go", -10)),
    Row("shift+right", do("go", 10)),
    *pair(
        "one sample back, on, and pause; so do ctrl+← ctrl+→",
        Row("comma,ctrl+left", do("step", -1), bar="sample", rank=56),
        Row("full_stop,ctrl+right", do("step", 1), bar="sample", rank=57),
    ),
    *pair(
        "slower, faster: from a tenth to a hundred times the speed",
        Row("less_than_sign", do("speed", -1), bar="slower", rank=4),
        Row("greater_than_sign", do("speed", 1), bar="faster", rank=5),
    ),
    *pair(
        "to the beginning, to the end",
        Row("home", do("beginning"), title="Beginning"),
        Row("end", do("end"), title="End"),
    ),
    Row("j", do("jump"), 'jump to a moment: "1:23", "83.5s", "50%"', "jump", 7, "Jump"),
    *pair(
        "to the next mark, to the one before",
        Row("n", do("next_mark", 1), bar="mark", rank=6),
        Row("N", do("next_mark", -1)),
    ),
    *LANES,
    *CHARTS,
    BASELINE,
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "quit", "quit", 51, always=True),
)

LIVE_ONLY = sorted(
    {key for row in MONITOR for key in row.keys.split(",")}
    - {key for row in _REPLAY for key in row.keys.split(",")}
    - {"e"}
)
"""Keys that change something among live lanes, and can change nothing in a recording."""

REPLAY = (*_REPLAY, Row(",".join(LIVE_ONLY), do("refuse")))
"""The keys of a recording that is played."""

_GROUP = pair("choose a group of tasks", Row("up", do("next_group", -1)), Row("down", do("next_group", 1)))
_FILTER = Row("slash", do("filter"), "filter the groups by words", "filter", 4, "Filter groups")

WATCH = (
    *_GROUP,
    Row("", do("next_group", 1), bar="group", rank=1, sign="↑↓"),
    Row("enter", do("waits"), "where the group's tasks wait", "where they wait", 2, "Where tasks wait"),
    *pair(
        "sort by the column before, by the next",
        Row("less_than_sign", do("next_column", -1)),
        Row("greater_than_sign", do("next_column", 1)),
    ),
    Row("", do("next_column", 1), bar="sort", rank=3, sign="< >"),
    _FILTER,
    *pair(
        "next process, previous one",
        Row("n", do("next_process", 1), bar="process", rank=5),
        Row("N", do("next_process", -1)),
    ),
    Row("o", do("output"), "what the program writes", "output", 6, "Output"),
    Row("x", do("outcomes"), "count how tasks end: failed tasks get a column", title="Outcomes"),
    Row("t", do("trace"), "trace allocations (tracemalloc)", title="Trace"),
    Row("a", do("allocations"), "the lines that hold traced memory, and what grew", title="Allocations"),
    *CHARTS,
    PAUSE,
    Row("m", do("mark"), "mark this moment on the charts, with a note", title="Mark"),
    RECORD,
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "quit; the program is asked to end", "quit", 51, always=True),
)
"""The keys of a watched program."""

WATCH_REPLAY = (
    *_REPLAY,
    *_GROUP,
    Row("enter", do("waits"), "where the group's tasks waited, where that was asked"),
    Row("o", do("next_column", 1), "sort the groups by the next column", "sort", 58),
    _FILTER._replace(rank=59),
    Row("x", do("next_process", 1), "next process", "process", 60),
)
"""The keys of a recording of a watched program."""

EXPERIMENTS = (
    *pair("choose an experiment", Row("up", "move(-1)"), Row("down", "move(1)")),
    Row("", "move(1)", bar="choose", rank=4, sign="↑↓"),
    Row("enter", "run", "run it; it goes on when you leave this screen", "run", 1, "Run"),
    Row("x", "stop", "stop it; what has been measured stays", "stop", 2, "Stop"),
    Row("k", "quick", "quick: fewer sizes, each once", "quick", 3, "Quick"),
    *pair(
        "the experiment's other tables; so do [ ]",
        Row("left,left_square_bracket", "turn(-1)"),
        Row("right,right_square_bracket", "turn(1)"),
    ),
    Row("", "turn(1)", bar="table", rank=5, sign="←→"),
    *pair("scroll the table", Row("pageup", "scroll_table(-1)"), Row("pagedown", "scroll_table(1)")),
    Row("c", "next_pane", "table, chart by size, RSS: the next, where one at a time is shown", "chart", 7),
    Row("d", "details", "source, machine and method, and a note on each table", "details", 51, "Details"),
    Row(
        "0", "stop_lanes", "stop all lanes of the monitor: they share the machine with what is measured",
        "stop lanes", 62,
    ),
    *PICTURES,
    PALETTE,
    Row("question_mark", "help", HELP, "help", 50),
    *pair(
        "back to the monitor", Row("escape", "back", bar="back", rank=6, title="Monitor"), Row("e", "back")
    ),
)  # fmt: skip
"""The keys of the experiments."""

READING = (Row("escape,question_mark,q,d", "dismiss(None)"), Row("s", "app.save_picture"))
"""The keys of a dialog in which there is only something to read."""
