"""The base class of dialogs, and a dialog that asks for a value."""

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

from concwatch.ui.base.base_screen import DismissOnceScreen, is_exiting
from concwatch.ui.widgets.text.hanging import Hanging

Result = TypeVar("Result")


class Dialog(DismissOnceScreen[Result | None], ModalScreen[Result | None]):
    """A modal dialog; escape dismisses it with None."""

    BINDINGS = [
        Binding("escape", "dismiss(None)", "Cancel", show=False),
        Binding("s", "app.save_picture", "Screenshot", show=False),  # in a dialog without a field
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
        /* Textual cannot wrap an option into zero cells, as in a very narrow terminal. */
        & Input, & #message, & OptionList { min-width: 20; }
        & #message { width: 100%; height: auto; min-height: 2; padding: 0 1; }
        & OptionList, & OptionList:focus {
            height: auto;
            max-height: 50vh;
            border: none;
            background: $surface;
            background-tint: $surface 0%;
        }
        /* Textual's own is as bright as the accent: dimmed text would be unreadable on it. */
        & OptionList:focus > .option-list--option-highlighted {
            background: $accent 30%;
            color: $foreground;
        }
    }
    """

    def on_screen_suspend(self) -> None:
        """Clear the render caches: Textual keeps references to some removed widgets, with all their lines."""
        for widget in self.walk_children(with_self=True):
            if isinstance(widget, Widget):
                widget.refresh()


def choice_list(choices: Sequence[tuple[str, str]]) -> OptionList:
    """Return a list of options, given the value and the description of each."""
    cells = max(len(value) for value, _ in choices) + 2
    return OptionList(
        *(
            Option(Hanging(value, description, cells), id=f"choice-{index}")
            for index, (value, description) in enumerate(choices)
        )
    )


class TypeDialog(Dialog[Result]):
    """Asks for one value, which is parsed while it is typed; an error is shown below the field."""

    def __init__(
        self,
        title: str,
        value: str,
        parse: Callable[[str], Result],
        describe: Callable[[Result], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Create the dialog.

        Args:
            title: what is asked for.
            value: the field's initial text.
            parse: parses the text; raises ValueError with a message of one line.
            describe: returns what a parsed value means.
            choices: value and description of each option in a list below the field.
        """
        super().__init__()
        self.error = ""
        """What was wrong with the value that was last submitted."""
        self._title = title
        self._value = value
        self._parse = parse
        self._describe = describe
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Create the field, the message and the list."""
        with Vertical() as box:
            box.border_title = self._title
            yield Input(self._value, id="field")
            yield Label(id="message")
            if self._choices:
                yield choice_list(self._choices)

    def on_mount(self) -> None:
        """Focus the field and select its text."""
        if is_exiting(self.app):
            return
        field = self.query_one(Input)
        field.focus()
        field.action_select_all()

    def _show_message(self, text: str, style: str) -> None:
        self.query_one("#message", Label).update(Content.styled(text, style))

    @on(Input.Changed)
    def _validate(self, event: Input.Changed) -> None:
        try:
            self._show_message(self._describe(self._parse(event.value)), "$dim")
        except ValueError as error:
            self._show_message(str(error), "$error")

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        try:
            self.dismiss(self._parse(event.value))
        except ValueError as error:
            self.error = str(error)
            self._show_message(self.error, "$error")

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        value, _ = self._choices[event.option_index]
        field = self.query_one(Input)
        field.value = value
        try:
            self.dismiss(self._parse(value))
        except ValueError:
            field.focus()  # a pattern to fill in, such as module:function
