"""The screen of plain ``concwatch``: what its options set, and how it is opened.

Nothing here needs click, which takes 9 ms to load and to parse no options.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from concwatch.commands.basics.display import Display, ScreenState, check_display, save_state
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.lab import real_lab
from concwatch.hosts.host import Host
from concwatch.monitor.lanes.lab import DEFAULT_HZ
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.monitor.workers.catalog import SHOWN, Engine

if TYPE_CHECKING:
    from concwatch.monitor.lanes.lab import Lab
    from concwatch.recordings.recorder import Recorder

ADVICE = 'use "concwatch run"'
"""The command that needs no terminal."""


class ScreenOptions(Struct, frozen=True):
    """The values of the options; the defaults are those of the command line."""

    lanes: Sequence[Engine] = SHOWN
    """The engines, each on its host."""
    settings: Settings = Settings(ON_SCREEN, trace=True)
    tasks: Mapping[Engine, int] = {}
    """The tasks to start with."""
    max_memory: int | None = None
    """Bytes that all workers together may use; None for 80 % of what is available."""
    rate: float = DEFAULT_HZ
    """Samples a second."""
    reconnect: bool = False
    """Whether to reconnect to a host when the connection is lost."""
    joining: Callable[[], Sequence[Host]] | None = None
    """Returns the hosts that are in a cluster now; None without a cluster."""
    screenshots: Path = Path("screenshots")
    cells: bool = False
    """Whether pictures show charts as cells."""
    recordings: Path = Path("recordings")
    recorder: "Recorder | None" = None
    window: float | None = None
    """Seconds; None for the last choice."""
    theme: str = ""
    """Empty for the last choice, as below."""
    symbols: str = ""


def open_screen(display: Display, options: ScreenOptions, make_lab: "Callable[..., Lab]") -> NoReturn:
    """Show the lanes until the user quits, save what was chosen, and exit.

    Args:
        display: where they are shown.
        options: the options.
        make_lab: returns a lab, given engines and the options of `Lab`.
    """
    # Imported late: it takes 0.2 s.
    from concwatch.ui.apps.app import ConcwatchApp, InitialState
    from concwatch.ui.sources.session_recording import SessionRecording

    saved = display.saved
    app = ConcwatchApp(
        lambda: make_lab(
            options.lanes,
            settings=options.settings,
            budget=options.max_memory,
            hz=options.rate,
            reconnect=options.reconnect,
            trials=True,
            cluster=options.joining,
        ),
        lambda rows, settings, **more: make_lab(rows, settings=settings, budget=options.max_memory, **more),
        options.screenshots,
        recording=SessionRecording(options.recordings, options.recorder),
        initial=InitialState(
            options.theme or display.theme,
            options.window or saved.window,
            {engine.name: count for engine, count in options.tasks.items()},
        ),
    )
    display.symbols, display.picture_cells = options.symbols or saved.symbols, options.cells
    status = display.run(app)
    state = ScreenState(
        app.selected_theme or saved.theme, app.window or saved.window, app.symbols.chosen or saved.symbols
    )
    if state != saved and not display.is_page:
        save_state(state)
    exit_with(status)


def open_default_screen() -> NoReturn:
    """Show the lanes as without options and settings, until the user quits; then exit."""
    check_display(ADVICE)
    open_screen(Display(), ScreenOptions(), real_lab)
