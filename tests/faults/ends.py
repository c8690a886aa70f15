"""Ends of the program: no worker outlives it, and the terminal is restored where that is possible."""

import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec

import psutil

from concwatch.commands.basics.hangup import HANGUP_STATUS
from tests.faults.fault import Impossible, fault, thorough
from tests.faults.terminal import PATIENCE, Terminal
from tests.processes import alive

END_LIMIT = 1.0
"""Seconds after which all workers must have ended."""

TIMES = 50
HEAVY_TIMES = 3
HEAVY_PATIENCE = 240.0

BROKEN_PIPE = -signal.SIGPIPE
"""Exit status if the reader of the output has closed it."""

CONCWATCH = ("-m", "concwatch")
HOLDING = ("--tasks", "1000", "--seconds", "600")
BRIEF = ("run", "asyncio", "--tasks", "1000", "--seconds", "0.2")


@dataclass(frozen=True)
class EndingProgram:
    """A program that runs workers."""

    name: str
    what: str
    arguments: tuple[str, ...]
    ready: Callable[[Terminal], object]
    """Waits until its tasks are live."""
    suffix: str = ""
    """Appended to the name of the fault."""
    before: Callable[[Terminal], object] = lambda terminal: None
    """Called just before the end."""
    how: tuple[str, ...] = CONCWATCH
    times: int = TIMES
    patience: float = PATIENCE

    @property
    def is_screen(self) -> bool:
        """Whether it changes the terminal's modes and must restore them."""
        return self.arguments[:1] not in (("run",), ("experiment",))

    def stopped(self) -> "EndingProgram":
        """Return this program with its workers stopped just before the end."""
        what = f"{self.what} with stopped workers (SIGSTOP)"
        return replace(self, what=what, suffix="-stopped", before=stop_workers)

    def breaking(self, module: str, function: str) -> "EndingProgram":
        """Return this program with a method that raises after SIGUSR1."""
        owner, name = function.split(".")
        return replace(self, how=("-c", CRASH.format(module=module, owner=owner, name=name)))


CRASH = """
import signal, sys
from {module} import {owner}

requested = []
signal.signal(signal.SIGUSR1, lambda *_: requested.append(True))
original = {owner}.{name}

def crash(*args):
    if requested:
        raise RuntimeError("unexpected error of a test")
    return original(*args)

{owner}.{name} = crash
sys.argv[0] = "concwatch"
from concwatch.commands.cli import main
main()
"""


@dataclass(frozen=True)
class End:
    """A way to end, or to be ended."""

    what: str
    act: Callable[[Terminal], object]
    screen: int
    """Exit status of the screen."""
    other: int
    """Exit status of the other commands."""
    restores: bool = True
    """Whether the process can restore the terminal."""
    output: str = ""


# Waiting for programs to run.


def start_tasks(terminal: Terminal, times: int = 1, shown: str = "10,000") -> None:
    terminal.wait_for_screen()
    terminal.type("t" + "+" * times)  # untraced tasks start sooner
    terminal.wait_for_text(f"{shown} live")


def hold(terminal: Terminal, times: int = 1, shown: str = "10,000") -> None:
    """Start tasks that run until they are stopped. Sleeping ones would end before the last has started."""
    terminal.wait_for_screen()
    terminal.type("w")
    terminal.wait_for_text("what each task does")
    terminal.type("hold\r")  # replaces the selected text
    terminal.wait_for_text("hold ▾")
    start_tasks(terminal, times, shown)


def start_four_lanes(terminal: Terminal) -> None:
    """Switch four lanes on, then wait for a random time."""
    terminal.wait_for_screen()
    terminal.type("1 2 3 4 ")
    terminal.until(terminal.processes, "a worker starts")
    terminal.run(random.uniform(0, 0.3))


def wait_for_blocking_task(terminal: Terminal) -> None:
    terminal.wait_for_text("starting 1 task")
    (worker,) = terminal.processes()
    used = worker.cpu_times().user
    terminal.until(lambda: worker.cpu_times().user > used + 0.3, "the task runs")


def wait_for_pages(terminal: Terminal) -> None:
    if find_spec("aiohttp") is None:
        raise Impossible("aiohttp is not installed")
    terminal.wait_for_text("holding ")


def wait_for_workers(terminal: Terminal) -> None:
    terminal.until(terminal.processes, "a worker runs")


def stop_workers(terminal: Terminal) -> None:
    for process in terminal.processes():
        process.suspend()


SCREEN = EndingProgram("screen", "the screen", ("--engines", "asyncio"), start_tasks)
HEAVY = EndingProgram("", "", (), hold, times=HEAVY_TIMES, patience=HEAVY_PATIENCE)
RUN = EndingProgram(
    "run",
    "run",
    ("run", "asyncio", "threads", "--together", *HOLDING),
    lambda t: t.wait_for_text("holding 1,000", 2),
)

# Ends.

KILLED = {
    "kill": End("kill -9", lambda t: t.process.send_signal(signal.SIGKILL), -9, -9, restores=False),
    "sigterm": End("SIGTERM", lambda t: t.process.send_signal(signal.SIGTERM), -15, -15),
    "sighup": End("SIGHUP", lambda t: t.process.send_signal(signal.SIGHUP), -1, -1),
    "sigint": End("SIGINT", lambda t: t.process.send_signal(signal.SIGINT), -2, -2),
    "sigint-twice": End("SIGINT twice", lambda t: [t.process.send_signal(2) for _ in range(2)], -2, -2),
    "ctrl-c": End("Ctrl-C", lambda t: t.type("\x03"), 0, -2),
    "closed": End("the terminal is closed", Terminal.close, -1, -1, restores=False),
}


def crash(key: str = "") -> End:
    """Return a crash of the broken method, which ``key`` calls."""

    def act(terminal: Terminal) -> None:
        terminal.process.send_signal(signal.SIGUSR1)
        terminal.type(key)

    return End("crash", act, 1, 1, output="unexpected error of a test")


# Ending programs.


def wait_until_ended(terminal: Terminal, workers: Sequence[psutil.Process], began: float) -> float:
    """Read until all ``workers`` have ended. Return the seconds since ``began``."""
    while left := [process for process in workers if alive(process)]:
        seconds = time.monotonic() - began
        assert seconds < PATIENCE, f"alive after {seconds:.1f} s: {left}"
        terminal.read(0.005)
    return time.monotonic() - began


def check_end(terminal: Terminal, workers: Sequence[psutil.Process], began: float, status: int) -> None:
    """Check the exit status and when the last worker ended."""
    seconds = wait_until_ended(terminal, workers, began)
    ended = terminal.wait_exit()
    # Also wait for workers started at the last moment, which are not in ``workers``.
    late = terminal.processes()
    seconds = max(seconds, wait_until_ended(terminal, late, began) if late else 0.0)
    print(f"last worker ended after {seconds:.3f} s", file=sys.stderr)
    # Unless it is thorough, other tests share the machine.
    assert seconds < (END_LIMIT if thorough() else PATIENCE), f"a worker was alive after {seconds:.2f} s"
    if status == -signal.SIGHUP and ended == HANGUP_STATUS:  # the app was stuck in a write to the terminal
        return
    assert ended == status, f"exit status {ended}, expected {status}\n{terminal.text()[-2000:]}"


def end_program(program: EndingProgram, end: End) -> None:
    """Start a program and end it."""
    with Terminal(*program.how, *program.arguments, patience=program.patience) as terminal:
        program.ready(terminal)
        workers = terminal.processes()
        assert workers, "no worker"
        program.before(terminal)
        began = time.monotonic()
        end.act(terminal)
        check_end(terminal, workers, began, end.screen if program.is_screen else end.other)
        if end.restores and program.is_screen:
            terminal.assert_restored()
        assert end.output in terminal.text()
        assert end.output or "Traceback" not in terminal.text(), terminal.text()[-2000:]


def add(name: str, program: EndingProgram, end: End, what: str = "") -> None:
    """Add a fault: all workers end within a second, and the terminal is restored."""
    seconds = 120.0 if program.patience == PATIENCE else program.patience + 120
    what = what or f"{program.what}: {end.what}"
    fault(name, what, times=program.times, seconds=seconds)(partial(end_program, program, end))


def add_all(program: EndingProgram, *ends: str) -> None:
    """Add a fault for each of several ends of one program."""
    for end in ends:
        add(f"end-{program.name}-{end}{program.suffix}", program, KILLED[end])


add_all(SCREEN, "kill", "sigterm", "sighup", "sigint", "ctrl-c", "closed")
for name, what, module, function, key in (
    ("handler", "a key's action", "concwatch.ui.panels.charts", "ChartPanel.toggle_pause", "p"),
    ("step", "the lab", "concwatch.monitor.lanes.lab", "Lab.step", ""),
    ("render", "a chart", "concwatch.ui.widgets.charts.chart", "Chart.render_line", ""),
    ("closing", "closing", "concwatch.monitor.lanes.lab", "Lab.close", "q"),
):
    broken = SCREEN.breaking(module, function)
    add(f"end-screen-crash-{name}", broken, crash(key), f"the screen: crash in {what}")
STARTING = EndingProgram("screen", "the screen while workers start", (), start_four_lanes, "-starting")
add_all(STARTING, "kill", "sigterm")
add_all(SCREEN.stopped(), "sigterm", "closed")
for name, what, engine, plusses, shown in (
    ("million", "a million tasks", "asyncio", 100, "1,000,000"),
    ("threads", "10,000 threads", "threads", 1, "10,000"),
):
    ready = partial(hold, times=plusses, shown=shown)
    heavy = replace(HEAVY, name=name, what=f"the screen with {what}", ready=ready)
    add_all(replace(heavy, arguments=("--engines", engine)), "kill", "sigterm", "closed")
add_all(RUN, "kill", "sigterm", "sighup", "sigint-twice", "ctrl-c", "closed")
add("end-run-crash", RUN.breaking("concwatch.monitor.lanes.lab", "Lab.step"), crash())
add_all(RUN.stopped(), "kill", "sigterm")
BLOCKED = ("run", "asyncio", "--tasks", "1", "--workload", "tests.faults.jobs:ablock_all")
add_all(
    EndingProgram("run", "run with a task that blocks its worker", BLOCKED, wait_for_blocking_task, "-held"),
    "kill",
    "sigterm",
)
PAGES = ("run", "asyncio", "--tasks", "100", "--seconds", "600", "--workload", "http:0.5")
add_all(EndingProgram("run", "run with a page server", PAGES, wait_for_pages, "-pages"), "kill", "sigterm")
EXPERIMENT = ("experiment", "memory-per-task", "--sizes", "1k", "--repeats", "50")
add_all(EndingProgram("experiment", "experiment", EXPERIMENT, wait_for_workers), "kill", "sigterm", "closed")
