"""The charts on the screen, side by side; `concwatch.charts.table` says which there are."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from concwatch.charts.annotations import Annotation
from concwatch.charts.picture import SMALLEST
from concwatch.charts.plot import LaneSeries, Plot, make_plot
from concwatch.charts.table import BY_METRIC, FEW, MANY, MOST, ON_SCREEN, PAIR
from concwatch.ui.widgets.chart import Chart, PointingChart
from concwatch.units import format_clock

LEAST_HEIGHT = SMALLEST[1] + 2
"""Cells of a chart that draws, with its frame."""

LEAST_WIDTH = 48
"""Cells of a chart beside which another may stand where there is room for one row."""

FRAMES_A_WINDOW = 300
"""How often at most the charts are drawn while the time on them passes once: no dot is finer."""

LEAST_FRAME, CALM_FRAME = 0.2, 0.5
"""Seconds between two frames at least; the same while the number of tasks does not change."""

BY_PLACE = [spec.metric for spec in ON_SCREEN]
"""What the charts show, in their order."""

Describe = Callable[[float, float], str]
"""Returns what there is to say of a moment, and of so many seconds that end with it."""


def _clock(moment: float, span: float) -> str:
    return format_clock(moment)


class ChartGrid(Container):
    """Lays the charts out: two by two, up to five by two where there is room, or one at a time."""

    DEFAULT_CSS = """
    ChartGrid {
        layout: grid;
        grid-size: 2;
        width: 1fr;
        height: 1fr;
        layers: charts caption;
        & Chart { layer: charts; }
        & .extra, & .more, & .most { display: none; }
        &.-untraced {
            & #chart-traced { display: none; }
            & #chart-rss { column-span: 2; }
        }
        & #caption {
            layer: caption;
            dock: bottom;
            display: none;
            width: 100%;
            height: auto;
            padding: 0 2;
            background: $panel;
            color: $foreground;
            &.-shown { display: block; }
        }
    }
    """

    current: reactive[int] = reactive(0)
    """Which chart is shown where there is room for one only, or beside the first where there is for two."""
    single: reactive[bool] = reactive(False)
    """Whether one chart takes all the room; it does so too where two, one above the other, have none."""
    logarithmic: reactive[bool] = reactive(False)
    """Whether the y axes are."""
    cursor: reactive[float | None] = reactive[float | None](None)
    """The moment that is read on all charts, seconds on the lab's clock; None for now."""

    def __init__(self) -> None:
        super().__init__()
        self.window = 0.0
        """Seconds from the left edge to the right one."""
        self._due = 0.0
        self._describe: Describe = _clock
        self._span = 0.0
        self._lanes: Sequence[LaneSeries] = ()
        self._now = 0.0
        self._caption = Static(id="caption")
        self._told = ""

    def compose(self) -> ComposeResult:
        """Yield a chart for each row of the table."""
        for index, spec in enumerate(ON_SCREEN):
            firsts = (("later", PAIR), ("extra", FEW), ("more", MANY), ("most", MOST))
            places = [name for name, first in firsts if index >= first]
            if index == PAIR - 1:
                places.append("second")
            current = "-current" if index == self.current else ""
            yield PointingChart(
                Plot(spec.title, spec.kind),
                hint=spec.hint,
                id=f"chart-{spec.metric}",
                classes=" ".join((*places, current)),
            )
        yield self._caption

    def watch_current(self, current: int) -> None:
        """Bring up the chart that is to be seen alone."""
        for index, chart in enumerate(self.query(Chart)):
            chart.set_class(index == current, "-current")
        self.set_class(current >= PAIR, "-turned")
        self._due = 0.0

    def watch_single(self) -> None:
        """Show one chart or several, as they have room and as is asked for."""
        low = 0 < self.size.height < 2 * LEAST_HEIGHT  # 0 until it is laid out
        alone = self.single or (low and self.size.width < 2 * LEAST_WIDTH)
        self.set_class(alone, "-single")
        self.set_class(low and not alone, "-row")
        self._due = 0.0

    on_resize = watch_single

    @on(PointingChart.Pointed)
    def _follow_cursor(self, event: PointingChart.Pointed) -> None:
        event.stop()
        self._span = event.span
        self.cursor = event.moment

    def watch_cursor(self) -> None:
        """Move the cursor of all charts."""
        self.watch_logarithmic()
        self._show_cursor()

    def watch_logarithmic(self) -> None:
        """Draw what the charts show with another axis or cursor."""
        for chart in self.query(Chart):
            chart.show(structs.replace(chart.plot, logarithmic=self.logarithmic, cursor=self.cursor))

    def _show_cursor(self) -> None:
        """Write over the lower edge which moment the cursor stands at."""
        text = "" if self.cursor is None else self._describe(self.cursor, self._span)
        if text != self._told:
            self._told = text
            self._caption.set_class(bool(text), "-shown")
            self._caption.update(Content(text))

    def filled(self) -> list[int]:
        """Return which charts have a line to show."""
        plots = (make_plot(spec, self._lanes, self._now, self.window) for spec in ON_SCREEN)
        return [at for at, plot in enumerate(plots) if plot.lines]

    def show(
        self,
        lanes: Sequence[LaneSeries],
        now: float,
        window: float,
        annotations: Sequence[Annotation] = (),
        describe: Describe = _clock,
        calm: bool = False,
    ) -> None:
        """Draw the lanes' series up to ``now`` (seconds on the lab's clock), if a frame is due.

        Args:
            lanes: each lane with its series and colour.
            now: the right edge.
            window: seconds from the left edge to the right one.
            moments: what to point out on the time axis.
            describe: returns in a few words what the cursor points at.
            calm: whether no task has come or gone since the last frame.
        """
        self._describe, self._lanes, self._now = describe, lanes, now
        if window != self.window:
            self.window, self._due = window, 0.0
        if self.cursor is not None and not now - window <= self.cursor <= now:
            self.cursor = None  # it has left the charts
        if now < self._due:
            return
        self._due = now + min(2.0, max(CALM_FRAME if calm else LEAST_FRAME, window / FRAMES_A_WINDOW))
        self._show_cursor()
        every = dict(zip(BY_PLACE, self.query(Chart), strict=True))
        self._give_way(every)
        charts = {metric: chart for metric, chart in every.items() if chart.display}
        for metric, chart in charts.items():
            plot = make_plot(BY_METRIC[metric], lanes, now, window)
            spares = [each for each in BY_METRIC[metric].fallbacks if each not in charts]
            if not plot.lines and spares and len(charts) > 1:
                spare = make_plot(BY_METRIC[spares[0]], lanes, now, window)
                plot = spare if spare.lines else plot
            chart.show(
                structs.replace(
                    plot, annotations=annotations, logarithmic=self.logarithmic, cursor=self.cursor
                )
            )

    def _give_way(self, charts: Mapping[str, Chart]) -> None:
        """Leave to the first chart the room of traced memory, while all others are seen and it is empty."""
        all_others = all(chart.display for metric, chart in charts.items() if metric != "traced")

        def drawn(metric: str) -> bool:
            return bool(make_plot(BY_METRIC[metric], self._lanes, self._now, self.window).lines)

        self.set_class(all_others and drawn("rss") and not drawn("traced"), "-untraced")

    def redraw(self) -> None:
        """Let the next `show` draw, however soon it comes."""
        self._due = 0.0
