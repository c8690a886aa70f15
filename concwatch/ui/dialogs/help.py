"""The help screen with keys and glossary, and other dialogs that only show text."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from concwatch.monitor.metrics.metric import MARKS
from concwatch.ui.base.base_screen import BaseScreen, DismissOnceScreen
from concwatch.ui.widgets.bars.key_bar import HelpKey
from concwatch.ui.widgets.tables.cost_table import COLUMNS
from concwatch.ui.widgets.text.glossary import Glossary
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call

WORDS = (
    ("task", "one unit of concurrency: a thread, a pool job, a coroutine task, a goroutine"),
    ("lane", "a worker process that runs only the tasks of one engine"),
    ("RSS", "resident memory of a process, read from outside the process"),
    ("kernel", "what the kernel holds for a process: stacks of threads, page tables, sockets"),
    ("tracemalloc", "bytes allocated by Python, counted while tracing is on"),
    *(column.about for column in COLUMNS),
    (
        "churn",
        "the workload of tasks that sleep for a random time, so that a steady number ends each second",
    ),
    ("frozen", "a mode of the garbage collector: it no longer looks at tasks that were created earlier"),
    *MARKS.items(),
)
"""The glossary; its columns of the cost table come from the table of all metrics."""

Rows = Sequence[tuple[str, str]]

KeyRows = Sequence[tuple[Sequence[HelpKey], str]]
"""Keys, and what they do."""

KEY_CELLS = 13
"""The width of the column of keys."""

READING: list[BindingType] = [
    Binding("escape,q,d", "dismiss(None)", show=False),
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


class KeyList(ClickableLines):
    """Shows keys, each of which can be clicked, and what they do."""

    DEFAULT_CSS = """
    KeyList { height: auto; }
    """

    def __init__(self, keys: KeyRows, press: Callable[[str], object]) -> None:
        """Create the list; ``press`` is called with the name of a key."""
        super().__init__(id="keys")
        self._keys, self._press = keys, press
        self._wrapped: tuple[int, Sequence[Sequence[Cell]]] = (-1, ())

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the lines; what a key does wraps within its column."""
        if self._wrapped[0] != width:
            self._wrapped = width, [line for row in self._keys for line in self._row_lines(*row, width)]
        return self._wrapped[1]

    def _row_lines(self, keys: Sequence[HelpKey], text: str, width: int) -> Iterator[Sequence[Cell]]:
        for number, line in enumerate(Content(text).wrap(max(1, width - KEY_CELLS))):
            cells: list[Cell] = []
            for key in keys if not number else ():
                action = call(self._press, key.name) if key.name else None
                cells += (Cell(len(key.key), assemble((key.key, "bold $accent")), action), Cell(1))
            cells.append(Cell(max(0, KEY_CELLS - sum(cell.width for cell in cells))))
            yield (*cells, Cell(max(0, width - sum(cell.width for cell in cells)), line))


def _sentence(text: str) -> str:
    """Return a text as the sentences of the table of metrics are written."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


class HelpScreen(ReadDialog):
    """Shows what mouse and keys do, and a glossary. A click on a key does what it does."""

    BINDINGS = [Binding("question_mark", "dismiss(None)", show=False)]

    def __init__(self, what: str, keys: KeyRows, words: Rows = WORDS, mouse: str = "") -> None:
        """Create the help of a screen that shows ``what``."""
        super().__init__(f"concwatch: {what}", Content(mouse))
        self._keys = keys
        self._words = words

    def body(self) -> Iterable[Widget]:
        """Yield the text about the mouse, the keys and the glossary."""
        if self._text:
            yield Static(Content.assemble(self._text, "\n"))
        yield KeyList(self._keys, self._press)
        yield Static()
        yield Glossary([(word, _sentence(meaning)) for word, meaning in self._words], "bold")

    def _press(self, key: str) -> None:
        """Close the help, and press a key of the screen below it."""
        below = self.app.screen_stack[-2]
        self.dismiss()
        if isinstance(below, BaseScreen):
            below.call_later(below.action_press, key)
