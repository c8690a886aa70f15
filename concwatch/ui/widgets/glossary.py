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

    def __init__(self, words: Sequence[tuple[str, str]], style: str, room: int = WORD_WIDTH) -> None:
        """Explain ``words``, each with its meaning, in a column of ``room`` cells in ``style``."""
        super().__init__()
        self._words = words
        self._style = style
        self._room = room

    def explain(self, words: Sequence[tuple[str, str]]) -> None:
        """Explain other words."""
        self._words = words
        self.follow()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines; a meaning's second goes on below its first."""
        return list(self._lines(max(1, width - self._room)))

    def _lines(self, width: int) -> Iterator[Content]:
        for word, meaning in self._words:
            for number, line in enumerate(Content(meaning).wrap(width)):
                head = "" if number else word
                yield Content.assemble((f"{head:{self._room}}", self._style), line)
