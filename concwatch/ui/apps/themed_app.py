"""The base of apps whose themes are adjusted so that all text is readable."""

from textual.reactive import Reactive
from textual.theme import Theme

from concwatch.ui.base.input_queue import InputQueue
from concwatch.ui.look.palette import ALL_THEMES, THEMES, readable


class ThemedApp(InputQueue):
    """An app with Textual's themes and our own."""

    theme: Reactive[str] = Reactive(THEMES[0].name)  # setting a theme later parses every style sheet again

    def __init__(self, theme: str = "") -> None:
        """Create the app with the initial ``theme``; the default theme if empty."""
        self._readable: dict[str, Theme] = {}
        self._initial_theme = ""
        if theme:
            self.set_reactive(ThemedApp.theme, theme)  # before Textual parses any style sheet
        super().__init__()

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and our own."""
        return ALL_THEMES

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme, adjusted so that all text is readable."""
        if theme_name not in self._readable and (theme := super().get_theme(theme_name)):
            self._readable[theme_name] = readable(theme)
        return self._readable.get(theme_name)

    def on_ready(self) -> None:
        """Note the initial theme."""
        self._initial_theme = self.theme

    @property
    def selected_theme(self) -> str:
        """Name of the theme selected by the user; empty if the initial one is unchanged."""
        return self.theme if self._initial_theme not in ("", self.theme) else ""
