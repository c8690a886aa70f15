"""The keys, and what the words on screen mean."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from concwatch.ui.keys import HELP

WORDS = (
    ("task", "one thread, one pool job, or one asyncio Task"),
    ("lane", "a process that runs the tasks of one engine and nothing else"),
    ("RSS", "memory that the system holds for a process, read from outside"),
    ("tracemalloc", "bytes that Python itself knows it allocated, while tracing is on"),
    ("RSS/task", "(RSS − RSS before the first task) ÷ live tasks"),
    ("ᵗ", "taken while traced: about twice what it is untraced"),
    ("≈", "counts memory kept from earlier tasks: switch the lane off and on for a clean figure"),
    ("wake-up lag", "how late, at worst since the last tick, a sleeper was woken"),
    ("fits here", "how many such tasks this machine would hold, and which wall comes first"),
    ("stalled", "no sign from the worker, or something in it overdue, for a second or more"),
)


class HelpScreen(ModalScreen[None]):
    """Shows the keys by mouse and keyboard, and the words."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss(None)", "Close", show=False)]

    DEFAULT_CSS = """
    HelpScreen {
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
        }
    }
    """

    def compose(self) -> ComposeResult:
        """One block of text."""
        with VerticalScroll() as box:
            box.border_title = "concwatch: what does one more task cost?"
            box.border_subtitle = "escape closes"
            yield Static(
                Content("\n").join(
                    [
                        Content(
                            "Drag a slider, or click a lane's ○ off, its number, or a setting to change it."
                        ),
                        Content(""),
                        *self._rows(HELP, "bold $accent"),
                        Content(""),
                        *self._rows(WORDS, "bold"),
                    ]
                )
            )

    @staticmethod
    def _rows(rows: tuple[tuple[str, str], ...], style: str) -> list[Content]:
        return [Content.assemble((f"{name:13}", style), text) for name, text in rows]
