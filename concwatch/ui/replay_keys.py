"""The replay's keys: what each does, which of them the bottom line shows, and what help says of them."""

from textual.binding import Binding

from concwatch.ui.widgets.key_bar import Key

LIVE_ONLY = "plus,equals_sign,minus,underscore,enter,0,w,t,g,f,i,u,m,r"
"""Keys of the monitor that change something there, and can change nothing here."""

BINDINGS = (
    *(Binding(str(number), f"choose({number - 1})", f"Lane {number}", show=False) for number in range(1, 10)),
    Binding("space,p", "play", "Play or pause", show=False),
    Binding("left", "go(-1)", "A second back", show=False),
    Binding("right", "go(1)", "A second on", show=False),
    Binding("shift+left", "go(-10)", "Ten seconds back", show=False),
    Binding("shift+right", "go(10)", "Ten seconds on", show=False),
    Binding("comma,ctrl+left", "step(-1)", "A sample back", show=False),
    Binding("full_stop,ctrl+right", "step(1)", "A sample on", show=False),
    Binding("less_than_sign", "speed(-1)", "Slower", show=False),
    Binding("greater_than_sign", "speed(1)", "Faster", show=False),
    Binding("home", "beginning", "To the beginning", show=False),
    Binding("end", "end", "To the end", show=False),
    Binding("n", "next_mark(1)", "Next mark", show=False),
    Binding("N", "next_mark(-1)", "Mark before", show=False),
    Binding("j", "jump", "Jump", show=False),
    Binding("question_mark", "help", "Help", show=False),
    Binding("q", "app.quit", "Quit", show=False),
    Binding("s", "app.save_picture", "Screenshot", show=False),
    Binding("S", "app.save_chart", "Save one chart", show=False),
    Binding("left_square_bracket", "window(-1)", "Shorter window", show=False),
    Binding("right_square_bracket", "window(1)", "Longer window", show=False),
    Binding("l", "logarithmic", "Logarithmic axis", show=False),
    Binding("b", "baseline", "Baseline", show=False),
    Binding("c", "next_chart", "Next chart", show=False),
    Binding("z", "zoom", "One chart", show=False),
    Binding(LIVE_ONLY, "refuse", "Nothing", show=False),
)
"""Every key and the screen's action that it runs."""

BAR = (
    Key("space", "play", "screen.play"),
    Key("←", "1 s", "screen.go(-1)"),
    Key("→", "1 s", "screen.go(1)"),
    Key("<", "slower", "screen.speed(-1)"),
    Key(">", "faster", "screen.speed(1)"),
    Key("n", "mark", "screen.next_mark(1)"),
    Key("j", "jump", "screen.jump"),
    Key("?", "help", "screen.help"),
    Key("q", "quit", "app.quit"),
    Key(",", "sample", "screen.step(-1)"),
    Key(".", "sample", "screen.step(1)"),
    Key("]", "window", "screen.window(1)"),
    Key("l", "log", "screen.logarithmic"),
    Key("s", "shot", "app.save_picture"),
    Key("^p", "palette", "app.command_palette"),
)
"""The keys at the bottom, the most needed first."""

HELP = (
    ("space p", "play or pause; at the end: play from the beginning"),
    ("← →", "one second back, on; shift: ten"),
    (", .", "one sample back, on, and pause; so do ctrl+← ctrl+→"),
    ("< >", "slower, faster: from a tenth to a hundred times the pace of then"),
    ("home end", "to the beginning, to the end"),
    ("j", 'jump to a moment: "1:23", "83.5s", "50%"'),
    ("n N", "to the next mark, to the one before"),
    ("1 … 9", "choose a lane"),
    ("tab", "to a chart: there ← → move a cursor that reads it; escape: back"),
    ("[ ]", "time window of the charts: shorter, longer"),
    ("l", "logarithmic y axis"),
    ("b", "baseline: compare with the figures of this moment"),
    ("c z", "next chart; one chart large"),
    ("s S", "save a screenshot: the screen; one chart, the one in focus or the first"),
    ("ctrl+p", "command palette: themes and everything else"),
    ("q", "quit"),
)
"""Every key and what it does, for who asks."""
