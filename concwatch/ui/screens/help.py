"""The keys, what the words on screen mean, and whatever else is only to be read."""

from collections.abc import Iterable, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from concwatch.measure.figures import DOUBTS
from concwatch.ui.keys import READING, bindings
from concwatch.ui.screens.base import Leaving
from concwatch.ui.widgets.cost_table import COLUMNS
from concwatch.ui.widgets.text_lines import Glossary

WORDS = (
    ("task", "one thread, one pool job, or one asyncio Task"),
    ("lane", "a process that runs the tasks of one engine and nothing else"),
    ("RSS", "memory that the system holds for a process, read from outside"),
    ("tracemalloc", "bytes that Python itself knows it allocated, while tracing is on"),
    *(column.about for column in COLUMNS),
    *((doubt.mark, doubt.note) for doubt in DOUBTS),
    ("±", "the unit in which the runtime takes memory, divided by the live tasks"),
)
"""The columns of the cost table among them, as the table of all figures explains them."""

Rows = Sequence[tuple[str, str]]


class ReadDialog(Leaving[None], ModalScreen[None]):
    """Shows a text, and below it paragraphs with headings."""

    BINDINGS = bindings(READING)

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
        """Show ``text``, and each of ``paragraphs`` below its heading, if it has a text."""
        super().__init__()
        self._title = title
        parts = [text, *(Content.assemble((head, "bold"), "\n", body) for head, body in paragraphs if body)]
        self._text = Content("\n\n").join(parts)

    def compose(self) -> ComposeResult:
        """One block of text."""
        with VerticalScroll() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "escape closes"
            yield from self.body()

    def body(self) -> Iterable[Widget]:
        """Yield what is to be read."""
        yield Static(self._text)


class HelpScreen(ReadDialog):
    """Shows the keys by mouse and keyboard, and the words."""

    def __init__(self, what: str, keys: Rows, words: Rows = WORDS, mouse: str = "") -> None:
        """Explain ``keys``, ``words`` and the ``mouse`` of a screen that shows ``what``."""
        super().__init__(f"concwatch: {what}", Content(mouse))
        self._keys = keys
        self._words = words

    def body(self) -> Iterable[Widget]:
        """Yield the mouse, the keys and the words."""
        if self._text:
            yield Static(Content.assemble(self._text, "\n"))
        yield Glossary(self._keys, "bold $accent")
        yield Static()
        yield Glossary(self._words, "bold")
