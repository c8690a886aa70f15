"""The screen for pictures: its charts as vectors over the grid of text."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from textual.app import App

from concwatch.charts.painters.vector import Vectors
from concwatch.pictures.cells import split_texts
from concwatch.pictures.vectors import draw_over, placeholder
from concwatch.ui.widgets.charts.chart import Chart


@contextmanager
def vector_charts(app: App[Any], *, cells: bool = False) -> Iterator[Mapping[str, Vectors]]:
    """Render the plots of all charts in front as placeholders meanwhile; yield each with its character.

    With ``cells``, render and yield none.
    """
    found = {}
    with ExitStack() as stack:
        charts = [chart for chart in app.screen.query(Chart) if chart.is_on_screen and not cells]
        for number, chart in enumerate(charts):
            character = placeholder(number)
            vectors = stack.enter_context(chart.as_vectors(character))
            if vectors is not None:
                found[character] = vectors
        yield found


def screen_svg(app: App[Any], title: str, *, cells: bool = False) -> str:
    """Return a picture of the screen as SVG, with ``cells`` as the terminal shows it."""
    with vector_charts(app, cells=cells) as charts:
        svg = app.export_screenshot(title=title)
    return split_texts(draw_over(svg, charts))
