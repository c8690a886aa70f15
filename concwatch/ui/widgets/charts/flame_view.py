"""A flame graph in cells: a row of blocks for each depth of the stack, the outermost function on top."""

from collections.abc import Sequence

from concwatch.charts.flame_graph import FlameBlock, FlameGraph, Placed, rows, sampled_percent, shortened
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call

OWN = ("$accent 55%", "$accent 42%")
LIBRARY = ("$foreground 20%", "$foreground 13%")
"""The colours of blocks of the program's own code, and of libraries: neighbours alternate."""

SELECTED = "$primary"

EDGE = "▏"
"""The left edge of a block."""

MOST_ROWS = 400


class FlameView(ClickableLines):
    """Shows a flame graph, of which one block is selected. A click on a block zooms into it."""

    DEFAULT_CSS = """
    FlameView { height: 1fr; }
    """

    def __init__(self, graph: FlameGraph) -> None:
        """Create the view of a graph."""
        super().__init__()
        self._graph = graph
        self._zoomed = graph.root
        own = graph.own_functions()
        self.selected = own[0][0] if own else graph.root
        self._before: list[FlameBlock] = []
        """The blocks that were zoomed into before."""
        self._top = 0

    def _placed(self, width: int) -> Sequence[Sequence[Placed]]:
        return rows(self._zoomed, width, MOST_ROWS)

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the rows of blocks, from that which keeps the selected one in sight.

        If there is room, a second row has the share of each block.
        """
        found, height = self._placed(width), max(1, self.size.height)
        high = 2 if 2 * len(found) <= height else 1
        shown = height // high
        at = next((y for y, row in enumerate(found) if any(one.block is self.selected for one in row)), 0)
        self._top = min(max(self._top, at - shown + 1), at, max(0, len(found) - shown))
        return [
            self._line(row, width, second)
            for row in found[self._top : self._top + shown]
            for second in range(high)
        ]

    def _line(self, row: Sequence[Placed], width: int, second: int) -> Sequence[Cell]:
        cells, end = [], 0
        for placed in row:
            if placed.left > end:
                cells.append(Cell(placed.left - end))
            cells.append(self._cell(placed, second))
            end = placed.right
        return [*cells, Cell(max(0, width - end))]

    def _cell(self, placed: Placed, second: int) -> Cell:
        block, width = placed.block, placed.right - placed.left
        color, text = (OWN if block.own else LIBRARY)[placed.shade], "$foreground"
        if block is self.selected:
            color, text = SELECTED, "$background"
        if second:
            share = sampled_percent(self._graph.share(block))
            label = share if len(share) < width else ""
        else:
            label = shortened(block.name, width - 1)
        bold = "bold " if block.own and not second else ""
        edge = (EDGE, f"$surface on {color}")
        content = assemble(edge, (f"{label:{width - 1}}", f"{bold}{text} on {color}"))
        return Cell(width, content, call((self.zoom, self._zoom_at)[second], block))

    def _zoom_at(self, block: FlameBlock) -> None:
        """Do the same as `zoom`: no two cells may have the same action."""
        self.zoom(block)

    def zoom(self, block: FlameBlock) -> None:
        """Show a block as wide as the whole, and select it."""
        if block is not self._zoomed:
            self._before.append(self._zoomed)
            self._zoomed = block
        self._select(block)

    def zoom_out(self) -> bool:
        """Show what was shown before the last zoom; return whether there was one."""
        if not self._before:
            return False
        self._zoomed = self._before.pop()
        self._select(self.selected)
        return True

    def _select(self, block: FlameBlock) -> None:
        self.selected = block
        self.update_lines()

    def move(self, across: int, down: int) -> None:
        """Select a neighbour of the selected block, what it was called by, or what it called."""
        found = self._placed(self.size.width)
        if down:
            target = self.selected.parent
            if down > 0:
                shown = {id(placed.block) for row in found for placed in row}
                target = next((one for one in self.selected.children if id(one) in shown), None)
            if target is not None:
                self._select(target)
            return
        row = next((row for row in found if any(one.block is self.selected for one in row)), ())
        at = next((at for at, one in enumerate(row) if one.block is self.selected), 0)
        if 0 <= at + across < len(row):
            self._select(row[at + across].block)
