"""The keys of every screen, one row each."""

from collections.abc import Callable

from msgspec.structs import replace

from concwatch.charts.symbols import AUTO, CHOICES
from concwatch.charts.table import ON_SCREEN
from concwatch.ui.base.keyboard import SAME, Row
from concwatch.ui.keys.key_targets import (
    ExperimentKeys,
    HasApp,
    HasGroups,
    HasHead,
    HasLanes,
    HasView,
    LabKeys,
    ReplayKeys,
    WatchKeys,
    WatchReplayKeys,
)
from concwatch.ui.widgets.lanes.lane_card import STEP


def _select(lane: int) -> Callable[[HasLanes], object]:
    return lambda on: on.lanes.select(lane)


def _choose_symbols(choice: str) -> Callable[[HasView], object]:
    return lambda on: on.app.symbols.choose(choice)


def _show_chart(metric: str) -> Callable[[HasView], object]:
    return lambda on: on.charts.show_chart(metric)


LANES: tuple[Row[HasLanes], ...] = (
    Row("1", _select(0), "select a lane; the other keys act on it", sign="1 … 9"),
    *(Row(str(number), _select(number - 1)) for number in range(2, 10)),
)  # fmt: skip

CHARTS: tuple[Row[HasView], ...] = (
    Row(
        "left_square_bracket", lambda on: on.charts.change_window(-1),
        "shorter or longer time window of the charts",
    ),
    Row("right_square_bracket", lambda on: on.charts.change_window(1), SAME, bar="window", rank=80),
    Row("l", lambda on: on.charts.toggle_logarithmic(), "logarithmic y axis", "log", 81, "Logarithmic axis"),
    Row("c", lambda on: on.charts.next_chart(), "next chart; one large chart"),
    Row("z", lambda on: on.charts.toggle_zoom(), SAME, title="One chart"),
    Row(
        "left", None, "focus a chart and move its cursor, which shows the values at that time",
        sign="tab ← →", bar_sign="← →",
    ),
    Row(
        "", lambda on: on.app.symbols.choose_next(),
        "draw charts with other symbols: auto, octants, braille, blocks", title="Chart symbols", sign="^p",
    ),
    *(
        Row("", _choose_symbols(choice), title=f"Chart symbols: {choice}", about=f"draw charts with {what}")
        for choice in CHOICES
        for what in ["the best that the terminal can show" if choice == AUTO else choice]
    ),
    *(Row("", _show_chart(spec.metric), title=f"Chart: {spec.title}", about=spec.hint) for spec in ON_SCREEN),
)  # fmt: skip

BASELINE: Row[HasLanes] = Row(
    "b", lambda on: on.costs.toggle_baseline(),
    "baseline: show changes from the current figures in the cost table", title="Baseline",
)  # fmt: skip

PICTURES: tuple[Row[HasApp], ...] = (
    Row("s", lambda on: on.app.pictures.save_screen(), "save a screenshot", "screenshot", 60, "Screenshot"),
    Row(
        "S", lambda on: on.app.pictures.save_chart(),
        "save a screenshot of the focused chart, or of the first one", title="Chart screenshot",
    ),
)  # fmt: skip

PALETTE: Row[HasApp] = Row(
    "ctrl+p", lambda on: on.app.action_command_palette(), "command palette: themes and everything else",
    "palette", 70, sign="^p",
)  # fmt: skip
HELP = "show the keys and a glossary"
GENERAL: tuple[Row[HasView], ...] = (
    PALETTE,
    Row("question_mark", lambda on: on.screen.show_help(), HELP, "help", 50, "Help", always=True),
)  # fmt: skip

PAUSE: Row[HasView] = Row(
    "p", lambda on: on.charts.toggle_pause(), "pause the charts; data is still collected",
    title="Pause charts",
)  # fmt: skip

RECORD: Row[HasApp] = Row(
    "r", lambda on: on.app.action_record(),
    "start or stop recording to a file; play it with: concwatch replay FILE", "record", 61, "Record",
)  # fmt: skip

MONITOR: tuple[Row[LabKeys], ...] = (
    *LANES,
    Row("space", lambda on: on.lab.toggle_lane(), "switch the lane on or off", "on/off", 1),
    Row("", None, "move the slider one stop; shift: finer; home, end: to either end", sign="← →"),
    Row(
        "plus,equals_sign", lambda on: on.lab.change_target(STEP), "10,000 tasks more or fewer", bar="10k",
        rank=2,
    ),
    Row("minus,underscore", lambda on: on.lab.change_target(-STEP), SAME, bar="10k", rank=3),
    Row("enter", lambda on: on.lab.ask_target(), "type a number of tasks", "number", 4, "Exact number"),
    Row("0", lambda on: on.lab.stop_all(), "stop all lanes", "stop all", 5, "Stop all"),
    Row(
        "w", lambda on: on.settings.ask_workload(), "choose the workload: what each task does", "workload", 6,
        "Workload",
    ),
    Row(
        "a", lambda on: on.lab.repeat_target(), "with refill off: start the last target again",
        title="Again",
    ),
    Row(
        "f", lambda on: on.settings.toggle_refill(),
        "refill: replace tasks that end, or start each target only once", title="Refill",
    ),
    Row(
        "t", lambda on: on.settings.toggle_trace(),
        "trace allocations (tracemalloc): twice the memory, a third of the speed", "trace", 62, "Trace",
    ),
    Row(
        "g", lambda on: on.settings.next_collector(), "garbage collector: default, frozen, off", "collector",
        63, "Collector",
    ),
    Row(
        "u", lambda on: on.lab.trim(), "trim: collect garbage and return memory to the system",
        title="Trim",
    ),
    Row(
        "n", lambda on: on.settings.ask_threads(), "set the number of threads in the pool",
        title="Pool threads",
    ),
    Row(
        "i", lambda on: on.lab.explain(),
        "how the lane is measured: what its tasks are and what its figures include",
        title="How it is measured",
    ),
    Row(
        "A", lambda on: on.lab.show_anatomy(),
        "anatomy: what the memory of one task of the lane consists of", title="Anatomy of a task",
    ),
    Row(
        "h", lambda on: on.hosts.toggle_fold(), "hosts: show an engine's lanes separately or in one row",
        title="Fold hosts",
    ),
    Row(
        "v", lambda on: on.hosts.toggle_even(), "divide targets evenly among hosts, or by what each can hold",
        title="Divide evenly",
    ),
    Row(
        "d", lambda on: on.hosts.toggle_band(),
        "charts of hosts in one row: their sum, or their median and range", title="Distribution over hosts",
    ),
    Row("less_than_sign", lambda on: on.costs.sort(-1), "sort the table by the previous or next column"),
    Row("greater_than_sign", lambda on: on.costs.sort(1), SAME),
    Row(
        "comma", lambda on: on.costs.compare(-1),
        "which two engines the sentence above the table compares; or click on a name in the table",
    ),
    Row("full_stop", lambda on: on.costs.compare(1), SAME, title="Compare other engines"),
    *CHARTS,
    BASELINE,
    PAUSE,
    Row(
        "m", lambda on: on.settings.ask_note(),
        "mark this moment on the charts with a note; commands are marked with ▴", title="Mark",
    ),
    RECORD,
    Row(
        "e", lambda on: on.measurements.show_experiments(),
        "experiments: published measurements, repeated on this machine", "experiments", 55, "Experiments",
    ),
    Row(
        "R", lambda on: on.measurements.show_race(),
        "race: stop all lanes, then measure each engine alone with the same number of tasks", "race", 56,
        "Race",
    ),
    Row(
        "H", lambda on: on.measurements.show_sweep(),
        "how many at once: stop all lanes, then measure each engine alone with more and more tasks",
        "how many", 57, "How many at once",
    ),
    *PICTURES,
    *GENERAL,
    Row("q", lambda on: on.app.action_quit(), "quit and stop all workers", "quit", 51, always=True),
)  # fmt: skip
"""The keys of the monitor."""

_PLAY_HEAD: tuple[Row[HasHead], ...] = (
    Row(
        "space", lambda on: on.head.toggle(), "play or pause; at the end: play from the beginning",
        bar="play", rank=1, title="Play or pause",
    ),
    Row("p", lambda on: on.head.toggle(), SAME),
    Row(
        "left", lambda on: on.head.skip(-1), "one second back or forward; shift: ten seconds", bar="1 s",
        rank=2,
    ),
    Row("right", lambda on: on.head.skip(1), SAME, bar="1 s", rank=3),
    Row("shift+left", lambda on: on.head.skip(-10)),
    Row("shift+right", lambda on: on.head.skip(10)),
    Row(
        "comma,ctrl+left", lambda on: on.source.step(-1),
        "one sample back or forward, then pause; also ctrl+← ctrl+→", bar="sample", rank=56,
    ),
    Row("full_stop,ctrl+right", lambda on: on.source.step(1), SAME, bar="sample", rank=57),
    Row(
        "less_than_sign", lambda on: on.head.change_speed(-1),
        "play slower or faster: from 0.1 to 100 times the speed", bar="slower", rank=4,
    ),
    Row("greater_than_sign", lambda on: on.head.change_speed(1), SAME, bar="faster", rank=5),
    Row("home", lambda on: on.head.jump(0), "go to the beginning or the end", title="Beginning"),
    Row("end", lambda on: on.head.jump(on.head.duration), SAME, title="End"),
    Row(
        "j", lambda on: on.transport.ask_moment(), 'jump to a time: "1:23", "83.5s", "50%"', "jump", 7,
        "Jump",
    ),
    Row("n", lambda on: on.source.next_mark(1), "go to the next or the previous mark", bar="mark", rank=6),
    Row("N", lambda on: on.source.next_mark(-1), SAME),
)  # fmt: skip

_VIEW: tuple[Row[HasView], ...] = (
    *CHARTS,
    *PICTURES,
    *GENERAL,
    Row("q", lambda on: on.app.action_quit(), "quit", "quit", 51, always=True),
)  # fmt: skip

_REPLAY: tuple[Row[ReplayKeys], ...] = (*_PLAY_HEAD, *LANES, BASELINE, *_VIEW)

LIVE_ONLY = sorted(
    {key for row in MONITOR for key in row.keys.split(",")}
    - {key for row in _REPLAY for key in row.keys.split(",")}
    - {"e"}
)  # fmt: skip
"""Keys of the monitor that have no effect on a recording."""

REPLAY: tuple[Row[ReplayKeys], ...] = (*_REPLAY, Row(",".join(LIVE_ONLY), lambda on: on.transport.refuse()))
"""The keys of a replay."""

_GROUP: tuple[Row[HasGroups], ...] = (
    Row("up", lambda on: on.groups.select_next(-1), "select a group of tasks"),
    Row("down", lambda on: on.groups.select_next(1), SAME, "group", 1, bar_sign="↑↓"),
)  # fmt: skip
_FILTER: Row[HasGroups] = Row(
    "slash", lambda on: on.groups.ask_filter(), "filter the groups by text", "filter", 4, "Filter groups",
)  # fmt: skip
_BLOCKS: Row[HasGroups] = Row(
    "B", lambda on: on.groups.toggle_blocks(), "list what blocks the event loops, by line, or the groups",
    "blocks", 7, "What blocks the loops",
)  # fmt: skip

WATCH: tuple[Row[WatchKeys], ...] = (
    *_GROUP,
    Row(
        "enter", lambda on: on.groups.toggle_details(), "show where the group's tasks wait; a block's stack",
        "where they wait", 2, "Where tasks wait",
    ),
    _BLOCKS,
    Row("less_than_sign", lambda on: on.groups.sort(-1), "sort by the previous or next column"),
    Row("greater_than_sign", lambda on: on.groups.sort(1), SAME, "sort", 3, bar_sign="< >"),
    _FILTER,
    Row(
        "n", lambda on: on.processes.select_next(1), "select the next or the previous process", bar="process",
        rank=5,
    ),
    Row("N", lambda on: on.processes.select_next(-1), SAME),
    Row(
        "M", lambda on: on.program.show_memory(on.processes.opened()),
        "memory: what RSS of the process is made of; also enter, once tab has reached the processes",
        "memory", 8, "What memory is made of",
    ),
    Row("o", lambda on: on.program.show_output(), "show the program's output", "output", 6, "Output"),
    Row(
        "F", lambda on: on.program.show_flame_graph(on.processes.selected),
        "flame graph: where the CPU time of the process goes, for ten seconds", "flame", 8, "Flame graph",
    ),
    Row("x", lambda on: on.program.toggle_outcomes(), "count how tasks end, by result", title="Outcomes"),
    Row(
        "T", lambda on: on.program.toggle_timing(), "time tasks, and how long they keep their loop busy",
        title="Time tasks",
    ),
    Row("t", lambda on: on.program.toggle_trace(), "trace allocations with tracemalloc", title="Trace"),
    Row(
        "a", lambda on: on.program.show_allocations(), "show the lines that hold traced memory",
        title="Allocations",
    ),
    *CHARTS,
    PAUSE,
    Row("m", lambda on: on.program.ask_note(), "mark this moment on the charts with a note", title="Mark"),
    RECORD,
    *PICTURES,
    *GENERAL,
    Row(
        "q", lambda on: on.app.action_quit(), "stop the program (SIGINT, then TERM, KILL) and quit", "quit",
        51, always=True,
    ),
)  # fmt: skip
"""The keys of a watched program."""

WATCH_REPLAY: tuple[Row[WatchReplayKeys], ...] = (
    *_PLAY_HEAD,
    *_VIEW,
    *_GROUP,
    Row(
        "enter", lambda on: on.groups.toggle_details(),
        "show where the group's tasks waited, if that was recorded; a block's stack",
    ),
    _BLOCKS,
    Row("o", lambda on: on.groups.sort(1), "sort the groups by the next column", "sort", 58),
    replace(_FILTER, rank=59),
    Row("x", lambda on: on.processes.select_next(1), "select the next process", "process", 60),
)  # fmt: skip
"""The keys of a recording of a watched program."""

EXPERIMENTS: tuple[Row[ExperimentKeys], ...] = (
    Row("up", lambda on: on.chosen.select_next(-1), "select an experiment"),
    Row("down", lambda on: on.chosen.select_next(1), SAME, "select", 4, bar_sign="↑↓"),
    Row(
        "enter", lambda on: on.chosen.run(), "run it; it continues when you leave this screen", "run",
        1, "Run",
    ),
    Row(
        "x", lambda on: on.runs.stop(), "stop it and keep what has been measured", "stop", 2, "Stop",
    ),
    Row("k", lambda on: on.runs.toggle_quick(), "quick run: fewer sizes, once each", "quick", 3, "Quick"),
    Row(
        "left,left_square_bracket", lambda on: on.chosen.next_table(-1),
        "the experiment's other tables; also [ ]",
    ),
    Row(
        "right,right_square_bracket", lambda on: on.chosen.next_table(1), SAME, "table", 5,
        bar_sign="←→",
    ),
    Row("pageup", lambda on: on.screen.scroll_table(-1), "scroll the table"),
    Row("pagedown", lambda on: on.screen.scroll_table(1), SAME),
    Row(
        "c", lambda on: on.screen.next_pane(),
        "on small terminals: show the table, the chart by size, or RSS", "chart", 7,
    ),
    Row(
        "d", lambda on: on.screen.show_details(), "source, machine, method, and notes on the tables",
        "details", 51, "Details",
    ),
    Row(
        "0", lambda on: on.lab.stop_all(),
        "stop all lanes of the monitor, which compete with the experiment", "stop lanes", 62,
    ),
    *PICTURES,
    PALETTE,
    Row("question_mark", lambda on: on.screen.show_help(), HELP, "help", 50),
    Row(
        "escape", lambda on: on.screen.leave(), "back to the monitor", bar="back", rank=6,
        title="Monitor",
    ),
    Row("e", lambda on: on.screen.leave(), SAME),
)  # fmt: skip
"""The keys of the experiments."""
