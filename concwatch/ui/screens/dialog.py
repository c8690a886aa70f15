"""What dialogs look like, and the one in which something is typed."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from concwatch.ui.screens.base import Leaving, is_ending

Answer = TypeVar("Answer")


class Dialog(Leaving[Answer | None], ModalScreen[Answer | None]):
    """A box before the screen that asks for something; escape answers nothing."""

    BINDINGS = [
        Binding("escape", "dismiss(None)", "Cancel", show=False),
        Binding("s", "app.save_picture", "Screenshot", show=False),  # where nothing is typed
    ]

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > Vertical {
            width: 66;
            max-width: 95%;
            height: auto;
            max-height: 90%;
            border: round $accent;
            border-title-color: $accent;
            background: $surface;
            padding: 1 2;
        }
        & Input { margin: 0; }
        /* Textual cannot wrap an option into no cells at all, as in a terminal a few cells wide. */
        & Input, & #said, & OptionList { min-width: 20; }
        & #said { width: 100%; height: auto; min-height: 2; padding: 0 1; }
        & OptionList, & OptionList:focus {
            height: auto;
            max-height: 12;
            border: none;
            background: $surface;
            background-tint: $surface 0%;
        }
        /* Textual's own is as bright as the accent: the quieter half of a line could not be read on it. */
        & OptionList:focus > .option-list--option-highlighted {
            background: $accent 30%;
            color: $foreground;
        }
    }
    """

    def on_screen_suspend(self) -> None:
        """Forget what was painted: Textual keeps some of a widget that is gone, with all its lines."""
        for widget in self.walk_children(with_self=True):
            if isinstance(widget, Widget):
                widget.refresh()


def choice_list(choices: Sequence[tuple[str, str]]) -> OptionList:
    """Make a list to choose from, of words and what each does."""
    width = max(len(word) for word, _ in choices)
    return OptionList(
        *(
            Option(Content.assemble(f"{word:{width}}  ", (what, "$dim")), id=f"choice-{index}")
            for index, (word, what) in enumerate(choices)
        )
    )


class TypeDialog(Dialog[Answer]):
    """Asks for one value, reads it while it is typed, and says beside the field what is wrong with it."""

    def __init__(
        self,
        title: str,
        value: str,
        read: Callable[[str], Answer],
        told: Callable[[Answer], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Ask.

        Args:
            title: what is asked for.
            value: what the field holds at first.
            read: reads the text; raises ValueError with one line for a person.
            told: says what a value that could be read means.
            choices: value and description of what can be chosen from a list.
        """
        super().__init__()
        self.refusal = ""
        """What was wrong with the value when it was last to be taken."""
        self._title = title
        self._value = value
        self._read = read
        self._told = told
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Lay out field, answer and list."""
        with Vertical() as box:
            box.border_title = self._title
            yield Input(self._value, id="field")
            yield Label(id="said")
            if self._choices:
                yield choice_list(self._choices)

    def on_mount(self) -> None:
        """Take the keys; what stands in the field is replaced by typing."""
        if is_ending(self.app):
            return
        field = self.query_one(Input)
        field.focus()
        field.action_select_all()

    @on(Input.Changed)
    def _say(self, event: Input.Changed) -> None:
        said = self.query_one("#said", Label)
        try:
            said.update(Content.styled(self._told(self._read(event.value)), "$dim"))
        except ValueError as error:
            said.update(Content.styled(str(error), "$error"))

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        try:
            self.dismiss(self._read(event.value))
        except ValueError as error:
            self.refusal = str(error)
            self.query_one("#said", Label).update(Content.styled(self.refusal, "$error"))

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        value, _ = self._choices[event.option_index]
        field = self.query_one(Input)
        field.value = value
        try:
            self.dismiss(self._read(value))
        except ValueError:
            field.focus()  # a pattern to fill in, such as module:function
