"""A slider that sets a number of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.content import Content
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style

from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.ui.widgets.lanes.slider_bar import FINISHED, KNOB, SliderBar, draw_bar
from concwatch.ui.widgets.lanes.slider_scale import StopScale
from concwatch.ui.widgets.text.text_lines import TextLines

MOVES: Mapping[str, Callable[[StopScale, int], int]] = {
    "right": lambda scale, value: scale.step(value, 1),
    "left": lambda scale, value: scale.step(value, -1),
    "shift+right": lambda scale, value: scale.fine(value, 1),
    "shift+left": lambda scale, value: scale.fine(value, -1),
    "pageup": lambda scale, value: scale.decade(value, 1),
    "pagedown": lambda scale, value: scale.decade(value, -1),
    "home": lambda scale, value: 0,
    "end": lambda scale, value: scale.reachable,
}
"""Key → the target to which it moves the knob, given the current one."""


class Slider(TextLines, can_focus=True):
    """A logarithmic slider from 0 to ``maximum`` tasks, for mouse, wheel and keys.

    A drag posts `Dragged` for each new value, and at its end `Changed` or `Cancelled`. The track is the whole
    widget; a subclass that shows more overrides `track`, and draws `track_text` there.
    """

    DEFAULT_CSS = """
    Slider {
        width: 1fr;
        height: 1;
        pointer: pointer;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding(key, f"move({key!r})", show=False) for key in MOVES]

    value: reactive[int] = reactive(0, repaint=False)
    """The target in tasks. It does not change during a drag."""

    live: reactive[int] = reactive(0, repaint=False)
    """The number of live tasks."""

    maximum: reactive[int] = reactive(LARGEST_TARGET, repaint=False)
    """The right end, in tasks."""

    color: reactive[str] = reactive("", repaint=False)
    """The colour of the filled part and the knob, ``#rrggbb``."""

    finished: reactive[bool] = reactive(False, repaint=False)
    """Whether all tasks of the target have ended, and are not replaced."""

    locked: reactive[bool] = reactive(False, repaint=False)
    """Whether the user cannot move the knob."""

    held: reactive[int | None] = reactive[int | None](None, repaint=False)
    """The value under the mouse during a drag, else None."""

    class Moved(Message):
        """Base class of the messages: the slider, and the number of tasks that it now shows."""

        def __init__(self, slider: Slider, value: int) -> None:
            super().__init__()
            self.slider = slider
            self.value = value

        @property
        def control(self) -> Slider:
            """The slider that sent the message."""
            return self.slider

    class Dragged(Moved):
        """Posted for each new value during a drag. The target is still the old one."""

    class Changed(Moved):
        """Posted when the target has changed: at the end of a drag, and for each step by key or wheel."""

    class Cancelled(Moved):
        """Posted when a drag ends without a change; the slider shows the target again."""

    def __init__(self, maximum: int = LARGEST_TARGET, color: str = "#59c9f0", id: str | None = None) -> None:
        super().__init__(id=id)
        self._button_seen = False
        self.set_reactive(Slider.maximum, maximum)
        self.set_reactive(Slider.color, color)

    @property
    def scale(self) -> StopScale:
        """The scale of the track."""
        return StopScale(max(self.maximum, LARGEST_TARGET), self.maximum)

    @property
    def shown(self) -> int:
        """The value at the knob: the one under the mouse during a drag, else the target."""
        return self.value if self.held is None else self.held

    def bar(self, width: int, mark: str = KNOB) -> SliderBar:
        """Return the track in ``width`` cells, with ``mark`` as the knob."""
        scale = self.scale
        return SliderBar(
            width,
            scale.cell(self.shown, width),
            scale.cell(self.live, width),
            tuple(scale.cell(stop, width) for stop in scale.decades),
            scale.cell(scale.reachable, width),
            FINISHED if self.finished and self.held is None else mark,
        )

    @property
    def track(self) -> Region:
        """The cells of the track, relative to the content of the widget."""
        return Region(0, 0, self.content_size.width, 1)

    @property
    def track_region(self) -> Region:
        """The cells of the track on the screen."""
        return self.track.translate(self.content_region.offset)

    def track_text(self, width: int) -> Content:
        """Return the track in ``width`` cells; the same object while it looks the same."""
        # Styles are made here: each component class would cost a node before the first frame.
        _, background = self.background_colors
        color = Color.parse(self.color)
        lane = Style(foreground=background + color)
        pending = Style(foreground=background.blend(color, 0.55, alpha=1.0))
        knob: Style | str = lane
        if self.has_focus:
            knob = "bold $foreground"
        elif not self.shown and not self.live:
            knob = "$dim"
        rest = f"$foreground {60 if self.has_focus else 25}%"
        return draw_bar(self.bar(width), lane, pending, knob, rest)

    def rows(self, width: int) -> Sequence[Content]:
        """Return the track."""
        return (self.track_text(width),)

    def watch_locked(self, locked: bool) -> None:
        """Cancel a drag, and lose the focus."""
        self.can_focus = not locked
        if locked:
            self._cancel()
            if self.has_focus:
                self.blur()

    def watch_disabled(self, disabled: bool) -> None:
        """Cancel a drag, since a disabled widget does not receive the release of the button."""
        super().watch_disabled(disabled)
        if disabled:
            self._cancel()

    @on(events.Focus)
    @on(events.Blur)
    def _show_track(self) -> None:
        self.update_lines()

    watch_value = watch_live = watch_maximum = watch_held = watch_finished = watch_color = _show_track

    # --- keys and wheel -------------------------------------------------------------------------------------

    def action_move(self, key: str) -> None:
        """Move the target as a key of `MOVES` does; keys do nothing during a drag."""
        value = MOVES[key](self.scale, self.value)
        if self.held is None and value != self.value:
            self.value = value
            self.post_message(self.Changed(self, value))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        # Only if it is selected: else the wheel scrolls what the slider is in. Textual sends wheel events to
        # disabled widgets, too, for the same reason.
        if self.has_focus and not self.is_disabled and self.is_on_track(event.screen_offset):
            event.stop()
            event.prevent_default()
            self.action_move("right" if isinstance(event, events.MouseScrollUp) else "left")

    # --- dragging -------------------------------------------------------------------------------------------

    def is_on_track(self, position: Offset) -> bool:
        """Return whether a press of the mouse at a position on the screen starts a drag."""
        return not self.locked and self.track_region.contains_point(position)

    @on(events.MouseDown)
    def _start_drag(self, event: events.MouseDown) -> None:
        """Start a drag at the cell under the mouse."""
        if self.held is not None:
            # The release was lost. This press may not be meant for the slider.
            event.stop()
            self._cancel()
        elif event.button == 1 and self.is_on_track(event.screen_offset):
            event.stop()
            self.capture_mouse()
            self._button_seen = False
            self.held = self.value
            self._hold(event)

    @on(events.MouseMove)
    @on(events.MouseUp)
    def _follow_mouse(self, event: events.MouseEvent) -> None:
        """Move the knob to the mouse, also outside the widget; apply its value once it is released."""
        if self.held is None:
            return
        event.stop()
        # If the event loop is busy, the release may come before the capture and go to another widget.
        missed = isinstance(event, events.MouseMove) and not event.button and self._button_seen
        self._button_seen = self._button_seen or bool(event.button)
        if not missed:
            self._hold(event)
        if missed or isinstance(event, events.MouseUp):
            self.value, self.held = self.shown, None
            self.release_mouse()
            self.post_message(self.Changed(self, self.value))

    def on_key(self, event: events.Key) -> None:
        """Cancel the drag on escape."""
        if event.key == "escape" and self.held is not None:
            event.stop()
            event.prevent_default()
            self._cancel()

    def on_mouse_release(self) -> None:
        """Cancel the drag when something else, such as a new screen, took the mouse."""
        # The event may belong to the previous drag if a press follows a release immediately.
        if self.app.mouse_captured is not self:
            self._cancel()

    def _hold(self, event: events.MouseEvent) -> None:
        scale, track = self.scale, self.track_region
        cell, width = event.screen_offset.x - track.x, track.width
        # The knob's own cell keeps the exact value: a click there must not change 12,345 to 12,000.
        at_knob = cell == scale.cell(self.value, width) and 0 < cell < width - 1
        value = self.value if at_knob else scale.value_at(cell, width)
        if value != self.held:
            self.held = value
            self.post_message(self.Dragged(self, value))

    @on(events.Blur)
    @on(events.Hide)
    @on(events.Unmount)
    def _cancel(self) -> None:
        """Cancel a drag, and show the target again.

        Also when the widget loses the focus, as it would not receive escape, and when it is hidden or
        removed, as it would keep the mouse captured.
        """
        if self.held is not None:
            self.held = None
            self.release_mouse()
            self.post_message(self.Cancelled(self, self.value))
