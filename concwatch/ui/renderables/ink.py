"""A line of text on the screen: made without what only text that is wrapped, aligned or linked needs."""

from rich.segment import Segment
from rich.style import Style as Look
from textual.content import Content
from textual.strip import Strip
from textual.style import Style


class Inks:
    """The styles of a widget's text, each worked out once."""

    def __init__(self, base: Style) -> None:
        """Work out styles upon that of the widget itself, ``base``."""
        self.base = base
        self._looks: dict[str | Style, Look] = {"": base.rich_style}

    def look(self, style: str | Style) -> Look:
        """Give what ``style`` looks like upon the widget's."""
        look = self._looks.get(style)
        if look is None:
            look = self._looks[style] = (self.base + _parse(style)).rich_style
        return look

    def write(self, line: Content, width: int) -> Strip:
        """Give a line in exactly ``width`` cells: the rest of them blank, or its beginning and ``…``."""
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
            if start < place:
                return self._overlapping(line)
            if start > place:
                segments.append(Segment(text[place:start], self.look("")))
            if end > start:
                segments.append(Segment(text[start:end], self.look(style)))
            place = end
        if place < len(text):
            segments.append(Segment(text[place:], self.look("")))
        return segments

    def _overlapping(self, line: Content) -> list[Segment]:
        """Give the segments of a line of which some parts have several styles, one upon the other."""
        return [Segment(text, self.look(style)) for text, style in line.render(self.base, "", _parse)]


def _parse(style: str | Style) -> Style:
    return Style.parse(style) if isinstance(style, str) else style
