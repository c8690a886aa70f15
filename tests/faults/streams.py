"""Streams that are closed, broken, or not a terminal: no worker outlives the program."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial

from tests.faults.ends import BRIEF, BROKEN_PIPE, CONCWATCH, RUN, TIMES, check_end, wait_for_workers
from tests.faults.fault import fault
from tests.faults.terminal import Terminal, set_size


@fault("end-screen-input-gone", "the screen: its input terminal is closed", times=TIMES)
def lose_screen_input() -> None:
    """All workers end within 1 s."""
    ours, theirs = os.openpty()
    set_size(theirs, (120, 40))
    with Terminal(*CONCWATCH, streams={"stdin": theirs}) as terminal:
        terminal.wait_for_screen()
        os.write(ours, b"3+")
        terminal.wait_for_text("10,000 live")
        workers, began = terminal.processes(), time.monotonic()
        os.close(ours)
        check_end(terminal, workers, began, -signal.SIGHUP)


@fault("end-run-output-gone", "run: the reader of its standard output ends", times=TIMES)
def lose_output() -> None:
    """All workers end within 1 s, and the program by SIGPIPE."""
    ours, theirs = os.pipe()
    with Terminal(*CONCWATCH, *RUN.arguments, streams={"stdout": theirs}) as terminal:
        RUN.ready(terminal)
        workers, began = terminal.processes(), time.monotonic()
        os.close(ours)
        check_end(terminal, workers, began, BROKEN_PIPE)
        assert "Traceback" not in terminal.text()


def check_completes(terminal: Terminal, status: int, shown: str = "", lose: Sequence[int] = ()) -> None:
    """Check that a short run completes after the descriptors in ``lose`` are closed."""
    wait_for_workers(terminal)
    workers = terminal.processes()
    for descriptor in lose:
        os.close(descriptor)
    assert terminal.wait_exit() == status, terminal.text()[-2000:]
    check_end(terminal, workers, time.monotonic(), status)
    assert shown in terminal.text(), terminal.text()
    assert "Traceback" not in terminal.text()


def lose_stream(name: str) -> None:
    """Close the other end of a stream of a short run. The run completes and prints its result."""
    ends = os.pipe()
    ours, theirs = ends if name == "stderr" else ends[::-1]
    with Terminal(*CONCWATCH, *BRIEF, streams={name: theirs}) as terminal:
        check_completes(terminal, 0, "RSS/task", [ours])


fault("end-run-error-gone", "run: the reader of its standard error ends")(partial(lose_stream, "stderr"))
fault("end-run-input-gone", "run: its standard input ends")(partial(lose_stream, "stdin"))


def redirected(*arguments: str, to: str) -> Terminal:
    """Start the program in a shell that closes or redirects its streams."""
    command = f'exec "{sys.executable}" -m concwatch {" ".join(arguments)} {to}'
    return Terminal("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])", command)


def redirect(to: str, status: int, shown: str = "") -> None:
    """Redirect the streams of a short run. It completes and reports a lost result."""
    with redirected(*BRIEF, to=to) as terminal:
        check_completes(terminal, status, shown)


fault("end-run-output-full", "run: its standard output is on a full disk")(
    partial(redirect, ">/dev/full", 1, "No space left on device")
)
fault("end-run-streams-closed", "run: all its streams are closed")(partial(redirect, "<&- >&- 2>&-", 0))


@fault("end-screen-no-terminal", "the screen: no terminal")
def no_terminal() -> None:
    """One line names the requirement and the alternative; exit status 2."""
    for closed in ("0<&-", "0</dev/null", "1>/dev/null", "0</dev/null 2>&1 1>/dev/full"):
        with redirected(to=closed) as terminal:
            assert terminal.wait_exit() == 2, terminal.text()
            (line,) = terminal.text().strip().splitlines()
            assert "needs a terminal" in line
            assert 'use "concwatch run"' in line
