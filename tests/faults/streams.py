"""Streams that are gone, lead nowhere, or are no terminal: no worker outlives the program."""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial

from tests.faults.ends import BRIEF, CONCWATCH, LOST, RUN, TIMES, has_family, judge
from tests.faults.fault import fault
from tests.faults.terminal import Terminal, set_size


@fault(
    "end-screen-input-gone",
    "the terminal closed that the screen's keys come from",
    times=TIMES,
)
def lose_screen_input() -> None:
    """No worker alive after 1 s."""
    ours, theirs = os.openpty()
    set_size(theirs, (120, 40))
    with Terminal(*CONCWATCH, streams={"stdin": theirs}) as terminal:
        terminal.is_shown()
        os.write(ours, b"3+")
        terminal.says("10,000 live")
        family, began = terminal.family(), time.monotonic()
        os.close(ours)
        judge(terminal, family, began, 129)


@fault("end-run-output-gone", "the reader of run's standard output ended", times=TIMES)
def lose_output() -> None:
    """No worker alive after 1 s, exit status 141."""
    ours, theirs = os.pipe()
    with Terminal(*CONCWATCH, *RUN.arguments, streams={"stdout": theirs}) as terminal:
        RUN.ready(terminal)
        family, began = terminal.family(), time.monotonic()
        os.close(ours)
        judge(terminal, family, began, LOST)
        assert "Traceback" not in terminal.text()


def runs_on(terminal: Terminal, status: int, shown: str = "", lose: Sequence[int] = ()) -> None:
    """See that a short run goes on to its end, whatever it loses once it runs."""
    has_family(terminal)
    family = terminal.family()
    for descriptor in lose:
        os.close(descriptor)
    assert terminal.ended() == status, terminal.text()[-2000:]
    judge(terminal, family, time.monotonic(), status)
    assert shown in terminal.text(), terminal.text()
    assert "Traceback" not in terminal.text()


def lose_stream(name: str) -> None:
    """End what a short run's stream leads to; the run goes on to its end and gives its result."""
    ends = os.pipe()
    ours, theirs = ends if name == "stderr" else ends[::-1]
    with Terminal(*CONCWATCH, *BRIEF, streams={name: theirs}) as terminal:
        runs_on(terminal, 0, "RSS/task", [ours])


fault("end-run-error-gone", "the reader of run's standard error ended")(partial(lose_stream, "stderr"))
fault("end-run-input-gone", "run's standard input ended")(partial(lose_stream, "stdin"))


def redirected(*arguments: str, to: str) -> Terminal:
    """Start the program by a shell that closes streams of it, or leads them elsewhere."""
    command = f'exec "{sys.executable}" -m concwatch {" ".join(arguments)} {to}'
    return Terminal("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])", command)


def redirect(to: str, status: int, shown: str = "") -> None:
    """Lead a short run's streams elsewhere; it goes on to its end, and says what is lost."""
    with redirected(*BRIEF, to=to) as terminal:
        runs_on(terminal, status, shown)


fault("end-run-output-full", "run's standard output on a full disk")(
    partial(redirect, ">/dev/full", 1, "No space left on device")
)
fault("end-run-streams-closed", "run with all its streams closed")(partial(redirect, "<&- >&- 2>&-", 0))


@fault("end-screen-no-terminal", "the screen without a terminal")
def no_terminal() -> None:
    """One line says what is needed and what to use instead, exit status 2."""
    for closed in ("0<&-", "0</dev/null", "1>/dev/null", "0</dev/null 2>&1 1>/dev/full"):
        with redirected(to=closed) as terminal:
            assert terminal.ended() == 2, terminal.text()
            (line,) = terminal.text().strip().splitlines()
            assert "needs a terminal" in line
            assert 'use "concwatch run"' in line
