"""Words and what they mean, in two columns."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from concwatch.ui.widgets.text_lines import TextLines

WORD_WIDTH = 13
"""Cells of the column of words."""


class Glossary(TextLines):
    """Shows each word with its meaning beside it, however many lines that takes."""

    DEFAULT_CSS = """
    Glossary { height: auto; }
    """

    def __init__(self, words: Sequence[tuple[str, str]], style: str) -> None:
        """Explain ``words``.

        Args:
            words: each with its meaning.
            style: what the words look like.
        """
        super().__init__()
        self._words = words
        self._style = style

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines; a meaning's second goes on below its first."""
        return list(self._lines(max(1, width - WORD_WIDTH)))

    def _lines(self, width: int) -> Iterator[Content]:
        for word, meaning in self._words:
            for number, line in enumerate(Content(meaning).wrap(width)):
                head = "" if number else word
                yield Content.assemble((f"{head:{WORD_WIDTH}}", self._style), line)
