"""A line of text that is drawn again only when it has changed, and one that can be clicked."""

from collections.abc import Sequence

from textual.content import Content, Span
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static


class Phrase(Static):
    """Text of a size that the style sheet gives, so that a change moves nothing else unless that says so."""

    DEFAULT_CSS = """
    Phrase { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    ALLOW_SELECT = False

    _said: tuple[str, Sequence[Span]] | None = None

    def say(self, content: Content) -> None:
        """Show ``content``, unless it is what is shown already."""
        if self._said != (content.plain, content.spans):
            self._said = (content.plain, content.spans)
            width = self.styles.width
            self.update(content, layout=width is not None and width.is_auto)


class Fitted(Widget):
    """Text that depends on how many cells there are, and is whole when it is seen for the first time."""

    DEFAULT_CSS = """
    Fitted { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    ALLOW_SELECT = False

    _drawn: tuple[str, Sequence[Span]] | None = None

    def fit(self, width: int) -> Content:
        """Give the text for ``width`` cells."""
        raise NotImplementedError

    def render(self) -> Content:
        """Draw the text that fits now."""
        content = self.fit(self.content_size.width)
        self._drawn = (content.plain, content.spans)
        return content

    def follow(self) -> None:
        """Draw again if that would change a cell."""
        content = self.fit(self.content_size.width)
        if self._drawn != (content.plain, content.spans):
            self.refresh()


class Tap(Phrase):
    """A phrase that can be clicked."""

    DEFAULT_CSS = """
    Tap {
        pointer: pointer;
        &:hover { background: $foreground 12%; }
    }
    """

    class Tapped(Message):
        """Somebody clicked."""

        def __init__(self, tap: "Tap") -> None:
            super().__init__()
            self.tap = tap

        @property
        def control(self) -> "Tap":
            """What was clicked."""
            return self.tap

    def on_click(self, event: Click) -> None:
        """Tell who listens."""
        event.stop()
        self.post_message(self.Tapped(self))
