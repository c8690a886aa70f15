"""The dialog that shows where the CPU time of a process went, once its stacks have been sampled."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from concwatch.charts.flame_graph import FlameGraph, flame_graph, sampled_percent
from concwatch.monitor.processes.profiling import Profiling
from concwatch.portable.protocol.units import format_seconds
from concwatch.ui.base.dialog import Dialog
from concwatch.ui.widgets.charts.flame_view import FlameView
from concwatch.ui.widgets.text.text_lines import TextLines

INTERVAL = 0.25
"""Seconds between two looks whether the agent has answered."""

LOW = 20
"""The rows of the terminal below which the dialog takes all of it."""

LINES = 4
"""The most lines of a function that are listed."""

KEYS = "←→↑↓ select · enter zoom · esc back · e export · s screenshot"
SAMPLING_KEYS = "enter ends it now · esc cancels it"

NOTHING = "the process used no CPU time while its stacks were sampled"


class FlameFigures(TextLines):
    """The figures of the selected block."""

    DEFAULT_CSS = """
    FlameFigures { height: 3; margin-top: 1; }
    """

    def show(self, graph: FlameGraph, view: FlameView) -> None:
        """Show the figures of the block that is selected in ``view``."""
        block = view.selected
        name = Content.assemble((block.name, "bold"), "  ", (block.where, "$dim"))
        lines = sorted(block.lines.items(), key=lambda line: -line[1])
        shares = [f":{line} {sampled_percent(cpu / block.cpu)}" for line, cpu in lines[:LINES] if block.cpu]
        more = f" · and {len(lines) - LINES} more" if len(lines) > LINES else ""
        listed = f"lines: {' · '.join(shares)}{more}" if shares else ""
        self.set_lines(name, Content(graph.describe(block)), Content.styled(listed, "$dim"))


class FlameScreen(Dialog[None]):
    """Shows how long stacks are still sampled, then the flame graph."""

    BINDINGS = [
        Binding("escape,backspace", "back", show=False),
        Binding("q,F", "dismiss(None)", show=False),
        Binding("left", "move(-1, 0)", show=False),
        Binding("right", "move(1, 0)", show=False),
        Binding("up", "move(0, -1)", show=False),
        Binding("down", "move(0, 1)", show=False),
        Binding("enter", "zoom", show=False),
        Binding("e", "export", show=False),
    ]
    DEFAULT_CSS = """
    FlameScreen {
        & > Vertical {
            width: 96%;
            max-width: 96%;
            height: 96%;
            max-height: 96%;
            padding: 0 1;
        }
        & #about { height: auto; margin-bottom: 1; }
        &.-low > Vertical { width: 100%; max-width: 100%; height: 100%; max-height: 100%; }
        &.-low #about, &.-low FlameFigures { margin: 0; }
    }
    """

    def __init__(
        self,
        name: str,
        profiling: Profiling,
        clock: Callable[[], float],
        export: Callable[[FlameGraph], object],
    ) -> None:
        """Create the dialog.

        Args:
            name: the process.
            profiling: its profile, which has been asked for.
            clock: returns the time on the clock on which it was.
            export: writes a graph to files.
        """
        super().__init__()
        self._process, self._profiling, self._clock, self._export = name, profiling, clock, export
        self._graph: FlameGraph | None = None

    def compose(self) -> ComposeResult:
        """Create the line about the profile."""
        with Vertical() as box:
            box.border_title = Content(f"{self._process}: {FlameGraph.TITLE}")
            box.border_subtitle = SAMPLING_KEYS
            yield TextLines(id="about")

    def on_mount(self) -> None:
        """Show the graph once the agent has answered."""
        self.set_class(self.app.size.height < LOW, "-low")
        self.call_after_refresh(self._show)
        self.set_interval(INTERVAL, self._show)

    def on_unmount(self) -> None:
        """End the sampling if the dialog is closed before."""
        self._profiling.end()

    def _show(self) -> None:
        if self._graph is not None:
            return
        about, left = self.query_one("#about", TextLines), self._profiling.left(self._clock())
        profile, problem = self._profiling.profile, self._profiling.problem
        if problem:
            about.set_lines(*Content.styled(problem, "$warning").wrap(max(1, about.size.width)))
        elif profile is None:
            seconds = format_seconds(self._profiling.seconds)
            about.set_lines(Content(f"sampling its stacks for {seconds}: {left:.0f} s left"))
        elif not profile.stacks:
            about.set_lines(Content(NOTHING))
        else:
            self._show_graph(flame_graph(self._process, profile))

    def _show_graph(self, graph: FlameGraph) -> None:
        self._graph = graph
        answer = [Content(graph.answer())] if graph.answer() else []
        self.query_one("#about", TextLines).set_lines(Content.styled(graph.subtitle, "$dim"), *answer)
        box, view, figures = self.query_one(Vertical), FlameView(graph), FlameFigures()
        box.border_subtitle = KEYS
        box.mount(view, figures)
        self.call_after_refresh(figures.show, graph, view)

    def show_changes(self) -> None:
        """Show the figures of the selected block."""
        if self._graph is not None:
            self.query_one(FlameFigures).show(self._graph, self.query_one(FlameView))

    def action_back(self) -> None:
        """Zoom out, or close the dialog."""
        if self._graph is None or not self.query_one(FlameView).zoom_out():
            self.dismiss(None)
        self.show_changes()

    def action_move(self, across: int, down: int) -> None:
        """Select a neighbour of the selected block."""
        if self._graph is not None:
            self.query_one(FlameView).move(across, down)
            self.show_changes()

    def action_zoom(self) -> None:
        """Zoom into the selected block; end the sampling if it is going on."""
        if self._graph is None:
            self._profiling.end()
            return
        view = self.query_one(FlameView)
        view.zoom(view.selected)
        self.show_changes()

    def action_export(self) -> None:
        """Write the graph to files."""
        if self._graph is not None:
            self._export(self._graph)
