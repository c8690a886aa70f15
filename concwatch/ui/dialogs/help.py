"""The help screen with keys and glossary, and other dialogs that only show text."""

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from concwatch.monitor.metrics import CAVEATS
from concwatch.ui.base_screen import BaseScreen, DismissOnceScreen
from concwatch.ui.widgets.cost_table import COLUMNS
from concwatch.ui.widgets.glossary import Glossary

WORDS = (
    ("task", "one unit of concurrency: a thread, a pool job, a coroutine task, a goroutine"),
    ("lane", "a worker process that runs only the tasks of one engine"),
    ("RSS", "resident memory of a process, read from outside the process"),
    ("tracemalloc", "bytes allocated by Python, counted while tracing is on"),
    *(column.about for column in COLUMNS),
    *((caveat.mark, caveat.note) for caveat in CAVEATS),
    ("±", "the runtime's allocation unit, divided by the live tasks"),
)
"""The glossary; its columns of the cost table come from the table of all figures."""

Rows = Sequence[tuple[str, str]]

KeyRows = Sequence[tuple[Content, str]]
"""Keys, which can be clicked, and what they do."""

READING: list[BindingType] = [
    Binding("escape,question_mark,q,d", "dismiss(None)", show=False),
    Binding("s", "app.save_picture", show=False),
]
"""The keys of a dialog that only shows text."""


class ReadDialog(DismissOnceScreen[None], ModalScreen[None]):
    """Shows a text, followed by paragraphs with headings."""

    BINDINGS = READING

    DEFAULT_CSS = """
    ReadDialog {
        align: center middle;
        background: $background 60%;
        & > VerticalScroll {
            width: 96;
            max-width: 96%;
            height: auto;
            max-height: 96%;
            border: round $accent;
            border-title-color: $accent;
            background: $surface;
            padding: 1 2;
            scrollbar-size-vertical: 1;
            scrollbar-color: $foreground 20%;
            scrollbar-background: $surface;
        }
    }
    """

    def __init__(self, title: str, text: Content, paragraphs: Rows = ()) -> None:
        """Create the dialog; paragraphs without text are omitted."""
        super().__init__()
        self._title = title
        parts = [text, *(Content.assemble((head, "bold"), "\n", body) for head, body in paragraphs if body)]
        self._text = Content("\n\n").join(parts)

    def compose(self) -> ComposeResult:
        """Create the scrollable text."""
        with VerticalScroll() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "escape closes this"
            yield from self.body()

    def body(self) -> Iterable[Widget]:
        """Yield the widgets in the box."""
        yield Static(self._text)


class HelpScreen(ReadDialog):
    """Shows what mouse and keys do, and a glossary. A click on a key does what it does."""

    DEFAULT_CSS = """
    HelpScreen #keys {
        link-style: bold;
        link-color: $accent;
        link-style-hover: bold;
        link-background-hover: $foreground 15%;
        link-color-hover: $accent;
    }
    """

    def __init__(self, what: str, keys: KeyRows, words: Rows = WORDS, mouse: str = "") -> None:
        """Create the help of a screen that shows ``what``."""
        super().__init__(f"concwatch: {what}", Content(mouse))
        self._keys = keys
        self._words = words

    def body(self) -> Iterable[Widget]:
        """Yield the text about the mouse, the keys and the glossary."""
        if self._text:
            yield Static(Content.assemble(self._text, "\n"))
        yield Glossary(self._keys, "bold $accent", id="keys")
        yield Static()
        yield Glossary(self._words, "bold")

    async def action_press(self, key: str) -> None:
        """Close the help, and press a key of the screen below it."""
        below = self.app.screen_stack[-2]
        self.dismiss()
        if isinstance(below, BaseScreen):
            below.call_later(below.action_press, key)
