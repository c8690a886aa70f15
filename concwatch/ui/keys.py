"""The keys of every screen, one row each, from which bindings, key bar, help and palette are made."""

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import NamedTuple

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from concwatch.charts.table import ON_SCREEN
from concwatch.ui.widgets.key_bar import Key
from concwatch.ui.widgets.lane_card import STEP
from concwatch.ui.widgets.text_lines import command

SIGNS = {
    "left": "←", "right": "→", "up": "↑", "down": "↓", "enter": "⏎", "escape": "esc", "pageup": "page up",
    "pagedown": "down", "plus": "+", "minus": "−", "comma": ",", "full_stop": ".", "slash": "/",
    "question_mark": "?", "less_than_sign": "<", "greater_than_sign": ">", "left_square_bracket": "[",
    "right_square_bracket": "]",
}  # fmt: skip
"""How keys are written, where that differs from Textual's name."""


class Row(NamedTuple):
    """A key, the action it runs, and how the bar, the help and the palette describe it."""

    keys: str
    """Textual's names of the key, separated by commas; empty if another widget binds it."""
    action: str
    """The action it runs: the screen's, or with ``app.`` the app's."""
    help: str = ""
    """Its description in the help and the palette; empty to omit it from both.

    Consecutive rows with the same help share one line of it.
    """
    bar: str = ""
    """A word for the bar; empty to omit it there."""
    rank: int = 0
    """Its position in the bar, which shows as many keys as fit, lowest rank first."""
    title: str = ""
    """Its name in the palette; empty to omit it there."""
    sign: str = ""
    """How the key is written, if not as in `SIGNS`."""
    always: bool = False
    """Whether the bar shows it even when there is little room."""
    about: str = ""
    """Its description in the palette, if it is not in the help."""

    @property
    def shown(self) -> str:
        """How the first of its keys is written."""
        first = self.keys.partition(",")[0]
        return self.sign or SIGNS.get(first, first)

    @property
    def from_anywhere(self) -> str:
        """The action in the form that a click on a widget needs."""
        return self.action if self.action.startswith("app.") else f"screen.{self.action}"


def bindings(rows: Iterable[Row]) -> list[BindingType]:
    """Return the bindings for the keys of a screen."""
    return [
        Binding(row.keys, row.action, row.title or row.help, show=False, key_display=row.shown)
        for row in rows
        if row.keys
    ]


def bar(rows: Iterable[Row]) -> list[Key]:
    """Return the keys in the bar at the bottom, by rank."""
    shown = sorted((row for row in rows if row.bar), key=lambda row: row.rank)
    return [Key(row.shown, row.bar, row.from_anywhere, row.always) for row in shown]


def help_lines(rows: Iterable[Row]) -> list[tuple[Content, str]]:
    """Return the lines of the help: keys, which run their actions when clicked, and what they do."""
    lines = groupby((row for row in rows if row.help), key=lambda row: row.help)
    return [(Content(" ").join(map(_clickable, same)), text) for text, same in lines]


def _clickable(row: Row) -> Content:
    text = Content(row.shown)
    action = f"screen.run({row.action!r})"
    return text.stylize(Style.from_meta({"@click": action})) if row.action else text


def palette(rows: Iterable[Row], screen: Screen[object]) -> Iterable[SystemCommand]:
    """Yield the commands that the palette offers on ``screen``."""
    for row in rows:
        if row.title:
            text = f"{row.shown}  {row.help or row.about}".strip()
            yield SystemCommand(row.title, text, partial(screen.run_action, row.action))


def pair(help: str, *rows: Row) -> tuple[Row, ...]:
    """Return rows that share one line of the help."""
    return tuple(row._replace(help=help) for row in rows)


LANES = (
    Row("1", command("select_lane", 0), "select a lane; the other keys act on it", sign="1 … 9"),
    *(Row(str(number), command("select_lane", number - 1)) for number in range(2, 10)),
)

CHARTS = (
    *pair(
        "shorter or longer time window of the charts",
        Row("left_square_bracket", command("change_window", -1)),
        Row("right_square_bracket", command("change_window", 1), bar="window", rank=80),
    ),
    Row("l", command("toggle_logarithmic"), "logarithmic y axis", "log", 81, "Logarithmic axis"),
    *pair(
        "next chart; one large chart",
        Row("c", command("next_chart")),
        Row("z", command("toggle_zoom"), title="One chart"),
    ),
    Row(
        "", "", "focus a chart and move the cursor, which shows the values of that moment",
        sign="tab ← →",
    ),
    Row(
        "", "app.next_symbols", "draw charts with other symbols: auto, octants, braille, blocks",
        title="Chart symbols", sign="^p",
    ),
    *(
        Row("", command("show_chart", spec.metric), title=f"Chart: {spec.title}", about=spec.hint)
        for spec in ON_SCREEN
    ),
)  # fmt: skip

BASELINE = Row(
    "b", command("toggle_baseline"), "baseline: show changes from the current figures in the cost table",
    title="Baseline",
)  # fmt: skip

PICTURES = (
    Row("s", "app.save_picture", "save a screenshot", "shot", 60, "Screenshot"),
    Row(
        "S", "app.save_chart", "save a screenshot of the focused chart, or of the first one",
        title="Chart screenshot",
    ),
)  # fmt: skip

PALETTE = Row(
    "", "app.command_palette", "command palette: themes and everything else", "palette", 70, sign="^p"
)
HELP = "show the keys and a glossary"
GENERAL = (PALETTE, Row("question_mark", command("show_help"), HELP, "help", 50, "Help", always=True))

PAUSE = Row(
    "p", command("toggle_pause"), "pause the charts; data is still collected", title="Pause charts"
)  # fmt: skip

RECORD = Row(
    "r", "app.record", "start or stop recording to a file; play it with: concwatch replay FILE",
    "record", 61, "Record",
)  # fmt: skip

MONITOR = (
    *LANES,
    Row("space", command("toggle_lane"), "switch the lane on or off", "on/off", 1),
    Row("", "", "move the slider one stop; shift: finer; home, end: to either end", sign="← →"),
    *pair(
        "10,000 tasks more or fewer",
        Row("plus,equals_sign", command("change_target", STEP), bar="10k", rank=2),
        Row("minus,underscore", command("change_target", -STEP), bar="10k", rank=3),
    ),
    Row("enter", command("ask_target"), "type a number of tasks", "number", 4, "Exact number"),
    Row("0", command("stop_all"), "stop all lanes", "stop all", 5, "Stop all"),
    Row("w", command("ask_workload"), "choose the workload: what each task does", "workload", 6, "Workload"),
    Row("a", command("repeat_target"), "with refill off: start the last target again", title="Again"),
    Row(
        "f", command("toggle_refill"), "refill: replace tasks that end, or start each target only once",
        title="Refill",
    ),
    Row(
        "t", command("toggle_trace"),
        "trace allocations (tracemalloc): twice the memory, a third of the speed",
        "trace", 62, "Trace",
    ),
    Row(
        "g", command("next_collector"), "garbage collector: default, frozen, off",
        "collector", 63, "Collector",
    ),
    Row("u", command("trim"), "trim: collect garbage and return memory to the system", title="Trim"),
    Row("n", command("ask_threads"), "set the number of threads in the pool", title="Pool threads"),
    Row(
        "i", command("explain"), "how the lane is measured: what its tasks are and what its figures include",
        title="How it is measured",
    ),
    Row(
        "h", command("toggle_fold"), "hosts: show an engine's lanes separately or in one row",
        title="Fold hosts",
    ),
    Row(
        "v", command("toggle_even"), "split a target evenly over hosts, or by what each can hold",
        title="Split evenly",
    ),
    Row(
        "d", command("toggle_band"), "charts of hosts in one row: their sum, or their median and range",
        title="Distribution over hosts",
    ),
    *pair(
        "sort the table by the previous or next column",
        Row("less_than_sign", command("sort", -1)),
        Row("greater_than_sign", command("sort", 1)),
    ),
    *CHARTS,
    BASELINE,
    PAUSE,
    Row(
        "m", command("ask_note"), "mark this moment on the charts with a note; commands are marked with ▴",
        title="Mark",
    ),
    RECORD,
    Row(
        "e", "app.experiments", "experiments: published measurements, repeated on this machine",
        "experiments", 55, "Experiments",
    ),
    Row(
        "R", "app.race", "race: stop all lanes, then measure each engine alone with the same number of tasks",
        "race", 56, "Race",
    ),
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "quit and stop all workers", "quit", 51, always=True),
)  # fmt: skip
"""The keys of the monitor."""

_PLAY_HEAD = (
    *pair(
        "play or pause; at the end: play from the beginning",
        Row("space", command("toggle_play"), bar="play", rank=1, title="Play or pause"),
        Row("p", command("toggle_play")),
    ),
    *pair(
        "one second back or forward; shift: ten seconds",
        Row("left", command("skip", -1), bar="1 s", rank=2),
        Row("right", command("skip", 1), bar="1 s", rank=3),
    ),
    Row("shift+left", command("skip", -10)),
    Row("shift+right", command("skip", 10)),
    *pair(
        "one sample back or forward, then pause; also ctrl+← ctrl+→",
        Row("comma,ctrl+left", command("step", -1), bar="sample", rank=56),
        Row("full_stop,ctrl+right", command("step", 1), bar="sample", rank=57),
    ),
    *pair(
        "play slower or faster: from 0.1 to 100 times the speed",
        Row("less_than_sign", command("speed", -1), bar="slower", rank=4),
        Row("greater_than_sign", command("speed", 1), bar="faster", rank=5),
    ),
    *pair(
        "go to the beginning or the end",
        Row("home", command("to_start"), title="Beginning"),
        Row("end", command("to_end"), title="End"),
    ),
    Row("j", command("ask_moment"), 'jump to a moment: "1:23", "83.5s", "50%"', "jump", 7, "Jump"),
    *pair(
        "go to the next or the previous mark",
        Row("n", command("next_mark", 1), bar="mark", rank=6),
        Row("N", command("next_mark", -1)),
    ),
)

_VIEW = (*CHARTS, *PICTURES, *GENERAL, Row("q", "app.quit", "quit", "quit", 51, always=True))

_REPLAY = (*_PLAY_HEAD, *LANES, BASELINE, *_VIEW)

LIVE_ONLY = sorted(
    {key for row in MONITOR for key in row.keys.split(",")}
    - {key for row in _REPLAY for key in row.keys.split(",")}
    - {"e"}
)
"""Keys of the monitor that have no effect on a recording."""

REPLAY = (*_REPLAY, Row(",".join(LIVE_ONLY), command("refuse")))
"""The keys of a replay."""

_GROUP = pair(
    "select a group of tasks", Row("up", command("next_group", -1)), Row("down", command("next_group", 1))
)
_FILTER = Row("slash", command("ask_filter"), "filter the groups by text", "filter", 4, "Filter groups")

WATCH = (
    *_GROUP,
    Row("", command("next_group", 1), bar="group", rank=1, sign="↑↓"),
    Row(
        "enter", command("toggle_waits"), "show where the group's tasks wait",
        "where they wait", 2, "Where tasks wait",
    ),
    *pair(
        "sort by the previous or next column",
        Row("less_than_sign", command("next_column", -1)),
        Row("greater_than_sign", command("next_column", 1)),
    ),
    Row("", command("next_column", 1), bar="sort", rank=3, sign="< >"),
    _FILTER,
    *pair(
        "select the next or the previous process",
        Row("n", command("next_process", 1), bar="process", rank=5),
        Row("N", command("next_process", -1)),
    ),
    Row("o", command("show_output"), "show the program's output", "output", 6, "Output"),
    Row("x", command("toggle_outcomes"), "count how tasks end, by result", title="Outcomes"),
    Row("t", command("toggle_trace"), "trace allocations with tracemalloc", title="Trace"),
    Row("a", command("show_allocations"), "show the lines that hold traced memory", title="Allocations"),
    *CHARTS,
    PAUSE,
    Row("m", command("ask_note"), "mark this moment on the charts with a note", title="Mark"),
    RECORD,
    *PICTURES,
    *GENERAL,
    Row("q", "app.quit", "stop the program (SIGINT, then TERM, KILL) and quit", "quit", 51, always=True),
)  # fmt: skip
"""The keys of a watched program."""

WATCH_REPLAY = (
    *_PLAY_HEAD,
    *_VIEW,
    *_GROUP,
    Row("enter", command("toggle_waits"), "show where the group's tasks waited, if that was recorded"),
    Row("o", command("next_column", 1), "sort the groups by the next column", "sort", 58),
    _FILTER._replace(rank=59),
    Row("x", command("next_process", 1), "select the next process", "process", 60),
)
"""The keys of a recording of a watched program."""

EXPERIMENTS = (
    *pair("select an experiment", Row("up", "select_next(-1)"), Row("down", "select_next(1)")),
    Row("", "select_next(1)", bar="select", rank=4, sign="↑↓"),
    Row("enter", "run", "run it; it continues when you leave this screen", "run", 1, "Run"),
    Row("x", "stop", "stop it and keep what has been measured", "stop", 2, "Stop"),
    Row("k", "quick", "quick run: fewer sizes, once each", "quick", 3, "Quick"),
    *pair(
        "the experiment's other tables; also [ ]",
        Row("left,left_square_bracket", "next_table(-1)"),
        Row("right,right_square_bracket", "next_table(1)"),
    ),
    Row("", "next_table(1)", bar="table", rank=5, sign="←→"),
    *pair("scroll the table", Row("pageup", "scroll_table(-1)"), Row("pagedown", "scroll_table(1)")),
    Row("c", "next_pane", "on small terminals: next of table, chart by size, and RSS", "chart", 7),
    Row("d", "details", "source, machine, method, and notes on the tables", "details", 51, "Details"),
    Row(
        "0", "stop_lanes", "stop all lanes of the monitor, which compete with the experiment",
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
"""The keys of a dialog that only shows text."""
