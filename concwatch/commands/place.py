"""Where a screen is shown: a terminal, or a page of ``concwatch serve``."""

import sys
from typing import TYPE_CHECKING

import click

from concwatch.commands.terminal import take_terminal, theme_for_terminal, why_no_screen
from concwatch.console import BAD_INPUT, print_error
from concwatch.ui.in_page import in_page, take_size

if TYPE_CHECKING:
    from concwatch.ui.lanes_app import LanesApp


def check_place(instead: str) -> None:
    """Exit with one line where no screen can be shown; ``instead`` is the command that does without."""
    problem = None if in_page() else why_no_screen(instead)
    if problem:
        print_error(problem)
        sys.exit(BAD_INPUT)


class Place:
    """The terminal or page of this process, which ends with it; taken before another process is started."""

    def __init__(self) -> None:
        """Take it."""
        from concwatch.commands.kept import read_kept
        from concwatch.ui.hangup import end_with_page, end_with_terminal
        from concwatch.ui.lanes_app import LanesApp  # noqa: F401  # Textual reads what a page is told as it is loaded

        self.page = in_page()
        """Whether it is a page."""
        self.kept = read_kept()
        """What was chosen on the last screen."""
        self._size = None
        if self.page:
            end_with_page(sys.stdin.fileno())
            self._size = take_size()
        else:
            end_with_terminal(*take_terminal())

    @property
    def theme(self) -> str:
        """The theme to begin with, where none is asked for; empty for the default."""
        return self.kept.theme or ("" if self.page else theme_for_terminal())

    def run(self, app: "LanesApp") -> int:
        """Show an app until it ends, and print what has been saved; return the exit status."""
        app.asked_theme = app.asked_theme or self.theme
        app.run(size=self._size)
        if not self.page:  # whose standard output takes packets
            for path in (*app.recording.paths, *app.saved):
                click.echo(f"saved {path}")
        if app.recording.problem:  # the event log, which told of it, is gone; or it was at the very end
            print_error(app.recording.problem)
        return app.return_code or 0
