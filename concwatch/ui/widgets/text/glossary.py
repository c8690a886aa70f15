"""Terms and their meanings, in two columns."""

from collections.abc import Sequence

from textual.content import Content

from concwatch.ui.widgets.text.hanging import hanging
from concwatch.ui.widgets.text.text_lines import TextLines

Terms = Sequence[tuple[str, str]]
"""Terms with their meanings."""


class Glossary(TextLines):
    """Shows terms and their meanings in two columns."""

    DEFAULT_CSS = """
    Glossary { height: auto; }
    """

    def __init__(self, terms: Terms, style: str, term_width: int = 13, id: str | None = None) -> None:
        """Create a glossary.

        Args:
            terms: each term with its meaning.
            style: the style of the terms.
            term_width: cells of the first column.
            id: the widget's id.
        """
        super().__init__(id)
        self._terms = terms
        self._style = style
        self._term_width = term_width

    def set_terms(self, terms: Terms) -> None:
        """Show other terms."""
        self._terms = terms
        self.update_lines()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines; meanings wrap within their column."""
        return [
            line
            for term, meaning in self._terms
            for line in hanging(term, meaning, self._term_width, width, self._style)
        ]
