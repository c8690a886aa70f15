"""Grapheme clusters: what a terminal shows as one letter, in one cell or two."""

from collections.abc import Iterator

from rich.cells import split_graphemes


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    """Yield each letter of ``text`` with all that combines with it, and the cells that it takes."""
    for begin, end, width in split_graphemes(text)[0]:
        if width:
            yield text[begin:end], width
