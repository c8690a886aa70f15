"""A slider which sets a number of tasks."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from concwatch.lab.settings import LARGEST_TARGET
from concwatch.ui.renderables.slider_bar import KNOB, SPENT, SliderBar
from concwatch.ui.scale import StopScale


class Slider(Widget, can_focus=True):
    """A logarithmic slider from 0 to ``maximum`` tasks, for mouse, wheel and keys.

    Every drag sends `Dragged` for each new number and ends with one message: `Changed`, or `Cancelled`.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    Slider {
        width: 1fr;
        height: 1;
        color: $primary;
        pointer: pointer;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"move('{kind}', {direction})", text, show=False)
        for key, kind, direction, text in (
            ("right", "step", 1, "One stop up"),
            ("left", "step", -1, "One stop down"),
            ("shift+right", "fine", 1, "A little up"),
            ("shift+left", "fine", -1, "A little down"),
            ("pageup", "decade", 1, "Ten times as many"),
            ("pagedown", "decade", -1, "A tenth as many"),
            ("home", "end", -1, "None"),
            ("end", "end", 1, "As many as possible"),
        )
    ]

    value: reactive[int] = reactive(0, repaint=False)
    """The applied target, in tasks; a drag leaves it alone until the user lets go."""

    live: reactive[int] = reactive(0, repaint=False)
    """How many tasks are live now."""

    maximum: reactive[int] = reactive(LARGEST_TARGET, repaint=False)
    """The right end, in tasks."""

    color: reactive[str] = reactive("", repaint=False)
    """The colour of the filled part and the knob; empty for the one the style sheet gives."""

    spent: reactive[bool] = reactive(False, repaint=False)
    """Whether all tasks that were asked for have ended, and no other takes their place."""

    held: reactive[int | None] = reactive[int | None](None, repaint=False)
    """The tasks the user's hand stands at during a drag, else nothing."""

    class Moved(Message):
        """What every message of a slider carries: the slider, and the number of tasks that it now shows."""

        def __init__(self, slider: Slider, value: int) -> None:
            super().__init__()
            self.slider = slider
            self.value = value

        @property
        def control(self) -> Slider:
            """The slider it is about."""
            return self.slider

    class Dragged(Moved):
        """Sent while the knob moves under the mouse: nothing is applied yet."""

    class Changed(Moved):
        """Sent when the user lets go of the knob, and for each step by key or wheel: apply this."""

    class Cancelled(Moved):
        """Sent when a drag ends with nothing to apply; the slider shows the applied target again."""

    def __init__(
        self,
        value: int = 0,
        *,
        live: int = 0,
        maximum: int = LARGEST_TARGET,
        color: str = "",
        disabled: bool = False,
    ) -> None:
        super().__init__(disabled=disabled)
        self._drawn: SliderBar | None = None
        self._button_seen = False
        self.set_reactive(Slider.value, value)
        self.set_reactive(Slider.live, live)
        self.set_reactive(Slider.maximum, maximum)
        self.color = color

    @property
    def scale(self) -> StopScale:
        """The scale of the track."""
        return StopScale(max(self.maximum, LARGEST_TARGET), self.maximum)

    @property
    def shown(self) -> int:
        """The tasks at which the knob stands: what the hand holds during a drag, else the applied target."""
        return self.value if self.held is None else self.held

    def bar(self, width: int, mark: str = KNOB) -> SliderBar:
        """Return the picture in ``width`` cells, with ``mark`` for a knob."""
        scale = self.scale
        return SliderBar(
            width,
            scale.cell(self.shown, width),
            scale.cell(self.live, width),
            tuple(scale.cell(stop, width) for stop in scale.decades),
            scale.cell(scale.most, width),
            SPENT if self.spent and self.held is None else mark,
        )

    def render(self) -> RenderResult:
        """Render the track."""
        self._drawn = self.bar(self.content_size.width)
        return self._drawn.content(*self._styles())

    def watch_color(self, color: str) -> None:
        """Put the colour above the style sheet's, or give way to that."""
        self.styles.color = color or None

    def watch_disabled(self, disabled: bool) -> None:
        """Let go of the knob, since a disabled widget would never hear the button come up."""
        super().watch_disabled(disabled)
        if disabled:
            self._cancel()

    def _refresh_if_seen(self) -> None:
        """Refresh when a cell would change: a million tasks arrive in far more ticks than there are cells."""
        if self.bar(self.content_size.width) != self._drawn:
            self.refresh()

    watch_value = watch_live = watch_maximum = watch_held = watch_spent = _refresh_if_seen

    def _styles(self) -> tuple[Style, Style, Style | str, str]:
        """Return the styles of what is live, of what is pending, of the knob, and of the rest."""
        # No component classes: Textual would style one node more for each of them before the first frame.
        _, _, background, color = self.colors
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

    def action_move(self, kind: str, direction: int) -> None:
        """Move by a step of the scale (``step``, ``fine`` or ``decade``), or to an ``end``, and apply it."""
        if kind == "end":
            value = self.maximum if direction > 0 else 0
        else:
            value = getattr(self.scale, kind)(self.value, direction)
        if self.held is None and value != self.value:  # while the mouse holds the knob keys do nothing
            self.value = value
            self.post_message(self.Changed(self, value))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        """Step one stop up or down."""
        # Textual delivers the wheel to disabled widgets too, for the container behind them to scroll.
        if not self.is_disabled:
            event.stop()
            event.prevent_default()
            self.action_move("step", 1 if isinstance(event, events.MouseScrollUp) else -1)

    # --- dragging -------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Jump to the cell under the mouse and begin a drag."""
        event.stop()
        if self.held is not None:
            # The button came up unseen. This press may have been meant for whatever else is under the mouse.
            self._cancel()
        elif event.button == 1:
            self.capture_mouse()
            self._button_seen = False
            self.held = self.value
            self._hold(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse, wherever it is."""
        if self.held is None:
            return
        event.stop()
        if event.button:
            self._button_seen = True
        elif self._button_seen:
            # On a busy loop the button may come up before the mouse is captured; another widget heard of it.
            self._release()
            return
        self._hold(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Apply what the drag arrived at."""
        event.stop()
        if self.held is not None:
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
        # The message may tell of the drag before this one, when a press follows a release at once.
        if self.app.mouse_captured is not self:
            self._cancel()

    def on_unmount(self) -> None:
        """Release the mouse."""
        self.release_mouse()

    def _hold(self, event: events.MouseEvent) -> None:
        """Bring the knob under the mouse."""
        scale, width = self.scale, self.content_size.width
        cell = event.x - self.gutter.left
        # In the knob's own cell the exact number stays: a click there must not turn 12,345 into 12,000.
        at_knob = cell == scale.cell(self.value, width) and 0 < cell < width - 1
        value = self.value if at_knob else scale.value_at(cell, width)
        if value != self.held:
            self.held = value
            self.post_message(self.Dragged(self, value))

    def _release(self) -> None:
        """End the drag and apply what it arrived at."""
        value, self.held = self.shown, None
        self.release_mouse()
        self.value = value
        self.post_message(self.Changed(self, value))

    @on(events.Blur)
    @on(events.Hide)
    def _cancel(self) -> None:
        """End the drag, if there is one, and show the applied target again.

        Without the focus escape would not arrive here, and a hidden widget would keep the mouse from others.
        """
        if self.held is not None:
            self.held = None
            self.release_mouse()
            self.post_message(self.Cancelled(self, self.value))
