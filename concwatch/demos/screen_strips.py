"""Compose the screen from the strips of its widgets, for films."""

from collections.abc import Iterator, Sequence

from textual.app import App
from textual.color import Color
from textual.errors import NoWidget
from textual.geometry import Region
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


def screen_strips(app: App[object]) -> Sequence[Strip] | None:
    """Return one strip per row of the terminal, or None if a screen is not laid out yet.

    Textual exports the cells only as SVG: at 120x40 that takes 12 ms, and parsing it 4 ms; this takes 3 ms.
    """
    strips = [Strip.blank(app.size.width)] * app.size.height
    stack = app.screen_stack
    opaque = [at for at, screen in enumerate(stack) if screen.styles.background.a == 1]
    for screen in stack[max(opaque, default=0) :]:
        ground = screen.styles.background
        if ground.a < 1:
            strips = [_tinted(strip, ground) for strip in strips]
        try:
            _draw(screen, strips, ground.a == 1)
        except NoWidget:
            return None
    return strips


def _draw(screen: Screen[object], strips: list[Strip], opaque: bool) -> None:
    """Draw all widgets of a screen from back to front."""
    whole = screen.find_widget(screen).region.intersection(screen.app.size.region)
    placed = []
    for widget in _widgets(screen, opaque):
        try:
            geometry = screen.find_widget(widget)
        except NoWidget:  # it is hidden
            continue
        area = geometry.region.intersection(geometry.clip).intersection(whole)
        if area:
            placed.append((geometry.order, widget, area, area.offset - geometry.region.offset))
    for _, widget, area, start in sorted(placed, key=lambda each: each[0]):
        drawn = widget.render_lines(Region.from_offset(start, area.size))
        for y, strip in zip(area.line_range, drawn, strict=False):
            left, right = strips[y].crop(0, area.x), strips[y].crop(area.right)
            strips[y] = Strip.join([left, strip, right])


def _widgets(screen: Screen[object], opaque: bool) -> Iterator[Widget]:
    for widget in (screen, *screen.walk_children(Widget)):
        if opaque or widget is not screen:
            yield widget
        if widget.show_vertical_scrollbar:
            yield widget.vertical_scrollbar
        if widget.show_horizontal_scrollbar:
            yield widget.horizontal_scrollbar
        if widget.show_vertical_scrollbar and widget.show_horizontal_scrollbar:
            yield widget.scrollbar_corner


def _tinted(strip: Strip, color: Color) -> Strip:
    return Strip(BackgroundScreen.process_segments(strip, color), strip.cell_length)
