"""The monitor's keys: what each does, which of them the bottom line shows, and what help says of them."""

from textual.binding import Binding

from concwatch.ui.widgets.key_bar import Key
from concwatch.ui.widgets.lane_card import STEP

BINDINGS = (
    *(Binding(str(number), f"choose({number - 1})", f"Lane {number}", show=False) for number in range(1, 10)),
    Binding("space", "switch", "on/off"),
    Binding("plus,equals_sign", f"move({STEP})", "10k", key_display="+"),
    Binding("minus,underscore", f"move({-STEP})", "10k", key_display="−"),
    Binding("enter", "number", "number"),
    Binding("0", "stop_all", "stop all"),
    Binding("w", "workload", "workload"),
    Binding("e", "app.experiments", "experiments"),
    Binding("question_mark", "help", "help", key_display="?"),
    Binding("q", "app.quit", "quit"),
    Binding("s", "app.save_picture", "shot"),
    Binding("S", "app.save_chart", "Save one chart", show=False),
    Binding("r", "app.record", "record"),
    Binding("t", "trace", "trace"),
    Binding("g", "collector", "collector"),
    Binding("f", "refill", "Refill", show=False),
    Binding("left_square_bracket", "window(-1)", "Shorter window", show=False),
    Binding("right_square_bracket", "window(1)", "Longer window", show=False),
    Binding("l", "logarithmic", "Logarithmic axis", show=False),
    Binding("p", "pause", "Pause charts", show=False),
    Binding("m", "mark", "Mark", show=False),
    Binding("b", "baseline", "Baseline", show=False),
    Binding("u", "trim", "Trim memory", show=False),
    Binding("n", "threads", "Pool threads", show=False),
    Binding("i", "how", "How it is measured", show=False),
    Binding("c", "next_chart", "Next chart", show=False),
    Binding("z", "zoom", "One chart", show=False),
)
"""Every key and the screen's action that it runs."""

BAR = (
    Key("space", "on/off", "screen.switch"),
    Key("+", "10k", f"screen.move({STEP})"),
    Key("−", "10k", f"screen.move({-STEP})"),
    Key("⏎", "number", "screen.number"),
    Key("0", "stop all", "screen.stop_all"),
    Key("w", "workload", "screen.workload"),
    Key("?", "help", "screen.help"),
    Key("q", "quit", "app.quit"),
    Key("e", "experiments", "app.experiments"),
    Key("s", "shot", "app.save_picture"),
    Key("r", "record", "app.record"),
    Key("t", "trace", "screen.trace"),
    Key("g", "collector", "screen.collector"),
    Key("^p", "palette", "app.command_palette"),
)
"""The keys at the bottom, the most needed first."""

HELP = (
    ("1 … 9", "choose a lane; the next keys act on it"),
    ("space", "switch it on or off (stop one)"),
    ("← →", "move its slider one stop; shift: finer; home, end: both ends"),
    ("+ −", "10,000 tasks more or fewer"),
    ("enter", "type an exact number"),
    ("0", "stop all lanes"),
    ("w", "choose the workload: what each task does"),
    ("f", "refill: replace tasks that end, or let a target be one burst"),
    ("t", "trace allocations (tracemalloc): about twice the memory, a third of the speed"),
    ("g", "garbage collector: default, frozen, off"),
    ("u", "trim: collect, and give memory back to the system"),
    ("n", "how many threads the pool has"),
    ("i", "how the chosen lane is measured: what a task is there, what its figures contain"),
    ("[ ]", "time window of the charts: shorter, longer"),
    ("l", "logarithmic y axis"),
    ("p", "pause the charts; collecting goes on"),
    ("c z", "next chart; one chart large"),
    ("← → chart", "on a chart: move a cursor over all charts, as the mouse does: the values of that moment"),
    ("m", "mark this moment on the charts, with a note; commands mark themselves (▴)"),
    ("b", "baseline: compare the cost table with the present figures, or no more"),
    ("r", "record the session into a file, or end that: concwatch replay FILE shows it again"),
    ("e", "experiments: published measurements, repeated on this machine"),
    ("s S", "save a screenshot: the screen; one chart, the one in focus or the first"),
    ("ctrl+p", "command palette: themes and everything else"),
    ("q", "quit; every worker ends"),
)
"""Every key and what it does, for who asks."""
