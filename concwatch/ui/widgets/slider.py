"""A slider which sets a number of tasks."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from concwatch.lab.settings import LARGEST_TARGET
from concwatch.ui.renderables.slider_bar import SliderBar, bar
from concwatch.ui.scale import StopScale


class Slider(Widget, can_focus=True):
    """A logarithmic slider from 0 to ``maximum`` tasks, for mouse, wheel and keys.

    Every drag sends `Dragged` for each new number and ends with one message: `Changed`, or `Cancelled`.

    Args:
        value: The applied target, in tasks.
        live: How many tasks are live now.
        maximum: The right end, in tasks.
        color: The colour of the filled part and the knob; empty for the one the style sheet gives.
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
        Binding("right", "step(1)", "One stop up", show=False),
        Binding("left", "step(-1)", "One stop down", show=False),
        Binding("shift+right", "fine(1)", "A little up", show=False),
        Binding("shift+left", "fine(-1)", "A little down", show=False),
        Binding("pageup", "decade(1)", "Ten times as many", show=False),
        Binding("pagedown", "decade(-1)", "A tenth as many", show=False),
        Binding("home", "end(-1)", "None", show=False),
        Binding("end", "end(1)", "As many as possible", show=False),
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
        """What every message of a slider carries.

        Args:
            slider: The slider it is about.
            value: The number of tasks it now shows.
        """

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
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
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

    def render(self) -> RenderResult:
        """Render the track."""
        self._drawn = self._bar()
        return self._drawn.content(*self._styles())

    def validate_maximum(self, maximum: int) -> int:
        """Keep the right end from passing the left one."""
        return max(0, maximum)

    def watch_color(self, color: str) -> None:
        """Put the colour above the style sheet's, or give way to that."""
        self.styles.color = color or None

    def watch_disabled(self, disabled: bool) -> None:
        """Let go of the knob, since a disabled widget would never hear the button come up."""
        super().watch_disabled(disabled)
        if disabled:
            self._cancel()

    def _bar(self) -> SliderBar:
        return bar(SliderBar, self, self.content_size.width)

    def _refresh_if_seen(self) -> None:
        """Refresh when a cell would change: a million tasks arrive in far more ticks than there are cells."""
        if self._bar() != self._drawn:
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

    def action_step(self, direction: int) -> None:
        """Move to the next stop and apply it."""
        self._apply(self.scale.step(self.value, direction))

    def action_fine(self, direction: int) -> None:
        """Move a tenth of a stop and apply it."""
        self._apply(self.scale.fine(self.value, direction))

    def action_decade(self, direction: int) -> None:
        """Move by a factor of ten and apply it."""
        self._apply(self.scale.decade(self.value, direction))

    def action_end(self, direction: int) -> None:
        """Move to an end and apply it."""
        self._apply(self.maximum if direction > 0 else 0)

    def _apply(self, value: int) -> None:
        """Take a new target from a key or the wheel, unless the mouse holds the knob."""
        if self.held is None and value != self.value:
            self.value = value
            self.post_message(self.Changed(self, value))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Step one stop up."""
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Step one stop down."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        # Textual delivers the wheel to disabled widgets too, for the container behind them to scroll.
        if not self.is_disabled:
            event.stop()
            event.prevent_default()
            self.action_step(direction)

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

    def on_blur(self) -> None:
        """Cancel the drag, since escape would no longer arrive here."""
        self._cancel()

    def on_hide(self) -> None:
        """Cancel the drag, since a hidden widget that holds the mouse would leave nobody any."""
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

    def _cancel(self) -> None:
        """End the drag, if there is one, and show the applied target again."""
        if self.held is not None:
            self.held = None
            self.release_mouse()
            self.post_message(self.Cancelled(self, self.value))
