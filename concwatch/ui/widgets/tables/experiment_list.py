"""The list of experiments: the name, title and status of each, or of the selected one in a single line."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.events import Click
from textual.message import Message

from concwatch.ui.sources.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.text.text_lines import TextLines

MOST_LINES = 4
"""The maximum number of lines of an item: its name, two of its title, and a blank line."""


class Item(NamedTuple):
    """One experiment in the list."""

    name: str
    title: str
    mark: str
    """Its status in this session, in a word."""
    style: str
    """The style of the status."""


def item(runs: ExperimentRuns, name: str) -> Item:
    """Return the experiment ``name`` with its status."""
    title = runs.experiments[name].title
    if runs.running == name:
        return Item(name, title, f"● {runs.shown(name).share * 100:.0f} %", "bold $success")
    if name in runs.problems:
        return Item(name, title, "✕ failed", "$error")
    if not runs.has_run(name):
        return Item(name, title, "", "")
    runner = runs.shown(name)
    if not any(outcome.runs for outcome in runner.outcomes.values()):
        return Item(name, title, "✕ nothing measured", "$warning")
    return Item(name, title, *(("◐ partial", "$warning") if runner.partial else ("✓ done", "$success")))


def _row(left: Content, right: Content, width: int) -> Content:
    """Return ``left`` and ``right`` at the ends of ``width`` cells, ``left`` truncated."""
    left = left.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
    return left.pad_right(max(0, width - left.cell_length - right.cell_length)) + right


class ExperimentList(TextLines):
    """Shows the experiments and which is selected. A click selects another."""

    DEFAULT_CSS = """
    ExperimentList { height: 1fr; pointer: pointer; }
    """

    class Picked(Message):
        """Posted when an experiment is clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    _items: Sequence[Item] = ()
    _chosen = 0

    def show(self, items: Sequence[Item], chosen: int) -> None:
        """Show ``items``; number ``chosen`` (from 0) is selected."""
        self._items, self._chosen = items, chosen
        self.update_lines()

    def _layout(self) -> tuple[int, int, int]:
        """Return the lines of an item, the first item in view, and the first one after the view."""
        height, count = self.content_size.height, len(self._items)
        each = max(1, min(MOST_LINES, (height + 1) // max(1, count)))
        seen = min(count, max(1, (height + 1) // each))
        first = min(max(0, self._chosen - seen // 2), count - seen)
        return each, first, first + seen

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines of the items that fit into the height, the selected one among them."""
        if not self._items:
            return ()
        if self.content_size.height <= 1:
            return (self._one_line(width),)
        each, first, last = self._layout()
        lines: list[Content] = []
        for index in range(first, last):
            item, chosen = self._items[index], index == self._chosen
            bar = ("▌" if chosen else " ", "$accent")
            name = Content.assemble(bar, (item.name, "bold" if chosen else ""))
            texts = textwrap.wrap(item.title, max(1, width - 1), max_lines=max(1, each - 2), placeholder="…")
            shown = [_row(name, Content.styled(item.mark, item.style), width)]
            shown += [Content.assemble(bar, (text, "$dim")) for text in texts[: each - 1]]
            lines += shown + [Content()] * (each - len(shown))
        return lines

    def _one_line(self, width: int) -> Content:
        item = self._items[self._chosen]
        left = Content.assemble(
            ("↑↓ ", "bold $accent"),
            (f"{self._chosen + 1} of {len(self._items)}  ", "$dim"),
            (item.name, "bold"),
            (f"  {item.title}", "$dim"),
        )
        return _row(left, Content.styled(item.mark, item.style), width)

    def on_click(self, event: Click) -> None:
        """Select the item under the mouse, or the next one if there is a single line."""
        offset = event.get_content_offset(self)
        if offset is None or not self._items:
            return
        each, first, last = self._layout()
        index = first + offset.y // each
        if self.content_size.height <= 1:
            index, last = (self._chosen + 1) % len(self._items), len(self._items)
        if index < last:
            self.post_message(self.Picked(index))
