"""Running a session of measurements without a screen, and printing its warnings."""

import signal
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from concwatch.commands.basics.console import print_error, print_note
from concwatch.commands.basics.lab import create_lab
from concwatch.commands.basics.progress import ProgressLine
from concwatch.commands.basics.signals import run_until_signal
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.verdicts.events import Event
from concwatch.monitor.workers.catalog import Engine

if TYPE_CHECKING:
    from concwatch.monitor.lanes.lab import Lab
    from concwatch.recordings.recorder import Recorder


class Session(Protocol):
    """Measures engines in labs of their own, and keeps the results."""

    def run(
        self,
        make_lab: "Callable[[Sequence[Engine]], Lab]",
        progress: "Callable[[Lab, str, str], None]",
    ) -> Coroutine[Any, Any, None]:
        """Measure everything. The results so far stay valid if this is cancelled."""
        ...


def run_session(
    session: Session, settings: Settings, budget: int | None, recorder: "Recorder | None", **more: Any
) -> "tuple[list[Lab], int]":
    """Run a session. Return its labs and the number of the signal that ended it, or 0.

    Args:
        session: what to measure.
        settings: the settings of the labs.
        budget: bytes of memory that the workers may use; None for the default.
        recorder: records the labs, if given.
        more: further options of `Lab`.
    """
    labs: list[Lab] = []
    line = ProgressLine()
    why = "failed"

    def make_lab(engines: Sequence[Engine]) -> "Lab":
        lab = create_lab(engines, settings=settings, budget=budget, **more)
        labs.append(lab)
        if recorder is not None:
            recorder.observe(lab)
        return lab

    try:
        _, stopped = run_until_signal(session.run(make_lab, line.show))
        why = f"ended by {signal.Signals(stopped).name}" if stopped else "done"
    except ValueError as error:  # a server that tasks connect to could not be started
        raise click.ClickException(str(error)) from None
    finally:
        if recorder is not None:
            recorder.stop(why)
    line.clear()
    return labs, stopped


def print_warnings(events: Sequence[Event], recording_error: str) -> None:
    """Print the warnings and errors of a session, and why its recording failed; empty if it did not."""
    for event in events:
        if event.severity != "info":
            print_note(f"{event.lane or 'concwatch'}: {event.text}")
    if recording_error not in ("", *(event.text for event in events)):
        print_error(recording_error)
