"""A slider that sets a number of tasks."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.content import Content
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style

from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.ui.widgets.lanes.scale import StopScale
from concwatch.ui.widgets.lanes.slider_bar import FINISHED, KNOB, SliderBar
from concwatch.ui.widgets.text.kept_lines import KeptLines


class Slider(KeptLines, can_focus=True):
    """A logarithmic slider from 0 to ``maximum`` tasks, for mouse, wheel and keys.

    A drag posts `Dragged` for each new value, and at its end `Changed` or `Cancelled`. The track is the whole
    widget; a subclass that shows more overrides `track`, and draws `track_text` there.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    Slider {
        width: 1fr;
        height: 1;
        pointer: pointer;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"{move}({direction})", text, show=False)
        for key, move, direction, text in (
            ("right", "step", 1, "One stop up"),
            ("left", "step", -1, "One stop down"),
            ("shift+right", "fine", 1, "A little up"),
            ("shift+left", "fine", -1, "A little down"),
            ("pageup", "decade", 1, "Ten times as many"),
            ("pagedown", "decade", -1, "A tenth as many"),
            ("home", "end", -1, "Minimum"),
            ("end", "end", 1, "Maximum"),
        )
    ]

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
        self._bar: tuple[SliderBar, tuple[Style | str, ...]] | None = None
        self._bar_text = Content()
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
        bar, styles = drawn = self.bar(width), self._styles()
        if drawn != self._bar:
            self._bar, self._bar_text = drawn, bar.content(*styles)
        return self._bar_text

    def render(self) -> RenderResult:
        """Draw the track."""
        return self.track_text(self.content_size.width)

    def redraw_track(self) -> None:
        """Draw the track again."""
        self.refresh()

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

    def _redraw_if_seen(self) -> None:
        """Redraw the track if a cell would change: ticks are far more frequent than that."""
        if self._bar is None or self.bar(self.track.width) != self._bar[0]:
            self.redraw_track()

    watch_value = watch_live = watch_maximum = watch_held = watch_finished = _redraw_if_seen

    def watch_color(self) -> None:
        """Draw the track in the colour."""
        self.redraw_track()

    def _styles(self) -> tuple[Style, Style, Style | str, str]:
        # Component classes would each cost one more styled node before the first frame.
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
        return lane, pending, knob, rest

    # --- keys and wheel -------------------------------------------------------------------------------------

    def action_step(self, direction: int) -> None:
        """Move the target to the next (1) or previous (-1) stop of the scale."""
        self._move(self.scale.step(self.value, direction))

    def action_fine(self, direction: int) -> None:
        """Move the target by a little, up (1) or down (-1)."""
        self._move(self.scale.fine(self.value, direction))

    def action_decade(self, direction: int) -> None:
        """Make the target ten times as large (1) or small (-1)."""
        self._move(self.scale.decade(self.value, direction))

    def action_end(self, direction: int) -> None:
        """Move the target to the right (1) or the left (-1) end."""
        self._move(self.maximum if direction > 0 else 0)

    def _move(self, value: int) -> None:
        if self.held is None and value != self.value:  # keys do nothing during a drag
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
            self.action_step(1 if isinstance(event, events.MouseScrollUp) else -1)

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
    def _follow_mouse(self, event: events.MouseMove) -> None:
        """Move the knob to the mouse, also outside the widget."""
        if self.held is None:
            return
        event.stop()
        if event.button:
            self._button_seen = True
        elif self._button_seen:
            # If the event loop is busy, the release may come before the capture and go to another widget.
            self._release()
            return
        self._hold(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the drag, and apply its value."""
        if self.held is not None:
            event.stop()
            self._hold(event)
            self._release()

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

    def on_unmount(self) -> None:
        """Release the mouse."""
        self.release_mouse()

    def _hold(self, event: events.MouseEvent) -> None:
        scale, track = self.scale, self.track_region
        cell, width = event.screen_offset.x - track.x, track.width
        # The knob's own cell keeps the exact value: a click there must not change 12,345 to 12,000.
        at_knob = cell == scale.cell(self.value, width) and 0 < cell < width - 1
        value = self.value if at_knob else scale.value_at(cell, width)
        if value != self.held:
            self.held = value
            self.post_message(self.Dragged(self, value))

    def _release(self) -> None:
        """End the drag, and apply its value."""
        value, self.held = self.shown, None
        self.release_mouse()
        self.value = value
        self.post_message(self.Changed(self, value))

    @on(events.Blur)
    @on(events.Hide)
    def _cancel(self) -> None:
        """Cancel a drag, and show the target again.

        Also when the widget loses the focus, as it would not receive escape, and when it is hidden, as it
        would keep the mouse captured.
        """
        if self.held is not None:
            self.held = None
            self.release_mouse()
            self.post_message(self.Cancelled(self, self.value))
