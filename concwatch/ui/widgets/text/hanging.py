"""A term and its meaning, which wraps in a column of its own: a hanging indent."""

from collections.abc import Iterator

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


def hanging(
    term: str, meaning: str, cells: int, width: int, term_style: str = "", style: str = ""
) -> Iterator[Content]:
    """Yield the lines of a term in ``cells`` cells, and its meaning beside it; ``width`` is that of both."""
    for number, line in enumerate(Content.styled(meaning, style).wrap(max(1, width - cells))):
        first = Content() if number else Content(term)
        room = max(0, cells - first.cell_length)
        yield Content.assemble(first.pad_right(room).stylize_before(term_style), line)


class Hanging(Visual):
    """An option of a list: a value, and a dimmed description beside it."""

    def __init__(self, value: str, description: str, cells: int) -> None:
        """Create the option; ``cells`` is the width of the values' column."""
        self._value, self._description, self._cells = value, description, cells

    def _lines(self, width: int) -> list[Content]:
        return list(hanging(self._value, self._description, self._cells, width, style="$dim"))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Return the lines of the option."""
        return Content("\n").join(self._lines(width)).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return the width in which nothing wraps."""
        return self._cells + len(self._description)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the number of lines."""
        return len(self._lines(width))
