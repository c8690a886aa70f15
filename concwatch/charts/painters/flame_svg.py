"""Flame graphs as SVG: one file without a script, whose blocks have titles."""

from collections.abc import Iterator
from html import escape

from concwatch.charts.flame_graph import FlameGraph, Placed, rows, shortened
from concwatch.charts.painters.slide import COLORS, FAMILY, LETTER

WIDTH, MARGIN = 1280, 24
"""Pixels."""

ROW, FONT = 20, 12
"""The height of a row, and of its text, in pixels."""

HEAD = 104
"""The height of the title above the rows."""

MOST_ROWS = 300

OWN = {True: ("#feb454", "#f0a03c"), False: ("#f7b55e", "#eda544")}
LIBRARY = {True: ("#2b3342", "#333c4d"), False: ("#dcdcd6", "#d0d0c9")}
"""Whether the picture is dark → the two shades of blocks of the program's own code, and of libraries."""

ON_OWN = "#1f1300"
"""The colour of text on a block of the program's own code."""


def draw_flame_graph(graph: FlameGraph, dark: bool = True) -> str:
    """Return a flame graph as SVG, the outermost function on top."""
    background, text, dim, _ = COLORS[dark]
    inner = WIDTH - 2 * MARGIN
    found = rows(graph.root, inner, MOST_ROWS)
    height = HEAD + ROW * len(found) + MARGIN

    def line(x: float, y: float, words: str, color: str, size: float, more: str = "") -> str:
        return f'<text x="{x:g}" y="{y:g}" fill="{color}" font-size="{size:g}"{more}>{escape(words)}</text>'

    def legend() -> Iterator[str]:
        x = float(MARGIN)
        for color, words in ((OWN[dark][0], "the program's own code"), (LIBRARY[dark][0], "libraries")):
            yield f'<rect x="{x:g}" y="80" width="12" height="12" rx="2" fill="{color}"/>'
            yield line(x + 18, 90, words, dim, FONT)
            x += 42 + len(words) * FONT * LETTER

    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="{FAMILY}">',
        f"<title>{escape(f'{graph.name}: {graph.TITLE}')}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{background}"/>',
        line(MARGIN, 30, f"{graph.name}: {graph.TITLE}", text, 18, ' font-weight="bold"'),
        line(MARGIN, 50, graph.subtitle, dim, FONT),
        line(MARGIN, 68, graph.answer(), text, FONT),
        *legend(),
        *(
            _block(graph, placed, HEAD + ROW * number, dark)
            for number, row in enumerate(found)
            for placed in row
        ),
        "</svg>\n",
    )
    return "\n".join(parts)


def _block(graph: FlameGraph, placed: Placed, y: int, dark: bool) -> str:
    block, x, width = placed.block, MARGIN + placed.left, placed.right - placed.left
    color = (OWN if block.own else LIBRARY)[dark][placed.shade]
    fill = ON_OWN if block.own else COLORS[dark][1]
    label = shortened(block.name, int((width - 8) / (FONT * LETTER)))
    words = f'<text x="{x + 4}" y="{y + 14}" font-size="{FONT}" fill="{fill}">{escape(label)}</text>'
    title = "\n".join(filter(None, (block.name, block.where, graph.describe(block))))
    drawn = f'<rect x="{x}" y="{y}" width="{max(1, width - 1)}" height="{ROW - 1}" rx="2" fill="{color}"/>'
    return f"<g><title>{escape(title)}</title>{drawn}{words if label else ''}</g>"
