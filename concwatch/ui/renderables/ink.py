"""A line of text on the screen: made without what only text that is wrapped or aligned needs."""

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style as Look
from textual.content import Content
from textual.strip import Strip
from textual.style import Style


class Inks:
    """The styles of a widget's text, each worked out once."""

    def __init__(self, base: Style, link: Callable[[], Look] | None = None) -> None:
        """Work out styles upon that of the widget itself.

        Args:
            base: the widget's style.
            link: returns what lies upon text that runs an action when it is clicked.
        """
        self.base = base
        self._link = link
        self._looks: dict[str | Style, Look] = {"": base.rich_style}

    def look(self, style: str | Style) -> Look:
        """Return what ``style`` looks like upon the widget's."""
        look = self._looks.get(style)
        if look is None:
            look = (self.base + _parse(style)).rich_style
            if self._link and "@click" in look.meta:
                look += self._link()
            self._looks[style] = look
        return look

    def write(self, line: Content, width: int) -> Strip:
        """Return a line in exactly ``width`` cells: the rest of them blank, or its beginning and ``…``."""
        line = line.truncate(width, ellipsis=True)
        room = width - line.cell_length
        segments = self._segments(line)
        if room:
            segments.append(Segment(" " * room, self.look("")))
        return Strip(segments, width)

    def _segments(self, line: Content) -> list[Segment]:
        text, place = line.plain, 0
        segments = []
        for start, end, style in line.spans:
            if start < place:  # some parts have several styles, one upon the other
                return [Segment(text, self.look(style)) for text, style in line.render(self.base, "", _parse)]
            if start > place:
                segments.append(Segment(text[place:start], self.look("")))
            if end > start:
                segments.append(Segment(text[start:end], self.look(style)))
            place = end
        if place < len(text):
            segments.append(Segment(text[place:], self.look("")))
        return segments


def _parse(style: str | Style) -> Style:
    return Style.parse(style) if isinstance(style, str) else style
