"""Grapheme clusters: what a terminal shows as one letter, in one cell or two. Apart, since it needs Rich."""

from collections.abc import Iterator

from rich.cells import split_graphemes


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    """Yield the grapheme clusters of ``text``, each with the number of terminal cells that it takes."""
    for start, end, width in split_graphemes(text)[0]:
        if width:
            yield text[start:end], width
