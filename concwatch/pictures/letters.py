"""What takes cells of a terminal: letters with all that is set upon them, of one cell or two."""

from collections.abc import Iterator

from rich.cells import split_graphemes


def letters(text: str) -> Iterator[tuple[str, int]]:
    """Give the letters of ``text``, each with all that is set upon it, and the cells that each takes."""
    for begin, end, width in split_graphemes(text)[0]:
        if width:
            yield text[begin:end], width
