"""However the program ends, no worker outlives it, and the terminal is given back where a process can."""

import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec

import psutil

from tests.faults.fault import Impossible, fault, thorough
from tests.faults.terminal import PATIENCE, Terminal
from tests.processes import alive

GONE = 1.0
"""Seconds after which no worker may be alive."""

TIMES = 50
HEAVY_TIMES = 3
HEAVY_PATIENCE = 240.0

LOST = 141
"""Exit status for an output that nobody reads any more: 128 + SIGPIPE."""

CONCWATCH = ("-m", "concwatch")
HOLDING = ("--tasks", "1000", "--seconds", "600")
BRIEF = ("run", "asyncio", "--tasks", "1000", "--seconds", "0.2")


@dataclass(frozen=True)
class Program:
    """A way to have workers run."""

    name: str
    what: str
    arguments: tuple[str, ...]
    ready: Callable[[Terminal], object]
    """Waits until its tasks are live."""
    suffix: str = ""
    """Comes after the end in the fault's name."""
    before: Callable[[Terminal], object] = lambda terminal: None
    """Is done just before the end."""
    how: tuple[str, ...] = CONCWATCH
    times: int = TIMES
    patience: float = PATIENCE

    @property
    def is_screen(self) -> bool:
        """Whether it takes a terminal and has to give it back."""
        return self.arguments[:1] not in (("run",), ("experiment",))

    def stopped(self) -> "Program":
        """Return the same, its workers stopped just before the end."""
        what = f"{self.what}, its workers stopped by SIGSTOP"
        return replace(self, what=what, suffix="-stopped", before=stop_workers)

    def breaking(self, module: str, function: str) -> "Program":
        """Return the same, with a method broken as soon as SIGUSR1 has come."""
        owner, name = function.split(".")
        return replace(self, how=("-c", CRASH.format(module=module, owner=owner, name=name)))


CRASH = """
import signal, sys
from {module} import {owner}

asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
before = {owner}.{name}

def fall(*args):
    if asked:
        raise RuntimeError("what nobody foresaw")
    return before(*args)

{owner}.{name} = fall
sys.argv[0] = "concwatch"
from concwatch.cli import main
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
    """Whether the process has a chance to give the terminal back."""
    says: str = ""


# Programs that run.


def plus(terminal: Terminal, times: int = 1, shown: str = "10,000") -> None:
    terminal.is_shown()
    terminal.type("t" + "+" * times)  # untraced: it starts them sooner
    terminal.says(f"{shown} live")


def hold(terminal: Terminal, times: int = 1, shown: str = "10,000") -> None:
    """Have tasks wait until they are told to stop: the first sleepers would end before the last come."""
    terminal.is_shown()
    terminal.type("w")
    terminal.says("what each task does")
    terminal.type("hold\r")  # in place of what stands there, which is selected
    terminal.says("hold ▾")
    plus(terminal, times, shown)


def starting(terminal: Terminal) -> None:
    """Switch four lanes on, and stop looking at a moment by chance."""
    terminal.is_shown()
    terminal.type("1 2 3 4 ")
    terminal.until(terminal.family, "a worker starts")
    terminal.run(random.uniform(0, 0.3))


def held(terminal: Terminal) -> None:
    terminal.says("starting 1 task")
    (worker,) = terminal.family()
    used = worker.cpu_times().user
    terminal.until(lambda: worker.cpu_times().user > used + 0.3, "the task runs")


def pages(terminal: Terminal) -> None:
    if find_spec("aiohttp") is None:
        raise Impossible("aiohttp is not installed")
    terminal.says("holding ")


def has_family(terminal: Terminal) -> None:
    terminal.until(terminal.family, "a worker runs")


def stop_workers(terminal: Terminal) -> None:
    for process in terminal.family():
        process.suspend()


SCREEN = Program("screen", "the screen", ("--engines", "asyncio"), plus)
HEAVY = Program("", "", (), hold, times=HEAVY_TIMES, patience=HEAVY_PATIENCE)
RUN = Program(
    "run", "run", ("run", "asyncio", "threads", "--together", *HOLDING), lambda t: t.says("holding 1,000", 2)
)

# Ends.

KILLED = {
    "kill": End("kill -9", lambda t: t.process.send_signal(signal.SIGKILL), -9, -9, restores=False),
    "sigterm": End("SIGTERM", lambda t: t.process.send_signal(signal.SIGTERM), 143, 143),
    "sighup": End("SIGHUP", lambda t: t.process.send_signal(signal.SIGHUP), 129, 129),
    "sigint": End("SIGINT", lambda t: t.process.send_signal(signal.SIGINT), 130, 130),
    "sigint-twice": End("SIGINT twice", lambda t: [t.process.send_signal(2) for _ in range(2)], 130, 130),
    "ctrl-c": End("Ctrl-C typed", lambda t: t.type("\x03"), 0, 130),
    "closed": End("terminal closed", Terminal.close, 129, 129, restores=False),
}


def crash(key: str = "") -> End:
    """Return the crash of what has been broken, once ``key`` has been pressed for it."""

    def act(terminal: Terminal) -> None:
        terminal.process.send_signal(signal.SIGUSR1)
        terminal.type(key)

    return End("crash", act, 1, 1, says="what nobody foresaw")


# What is done with them.


def wait_until_gone(terminal: Terminal, family: Sequence[psutil.Process], began: float) -> float:
    """Read on until none of ``family`` runs; return the seconds since ``began``."""
    while left := [process for process in family if alive(process)]:
        seconds = time.monotonic() - began
        assert seconds < PATIENCE, f"alive after {seconds:.1f} s: {left}"
        terminal.read(0.005)
    return time.monotonic() - began


def judge(terminal: Terminal, family: Sequence[psutil.Process], began: float, status: int) -> None:
    """Hold the end against what must hold."""
    seconds = wait_until_gone(terminal, family, began)
    ended = terminal.ended()
    # Once more by their mark: what was started at the last moment is not among those that were seen.
    late = terminal.family()
    seconds = max(seconds, wait_until_gone(terminal, late, began) if late else 0.0)
    print(f"last worker gone after {seconds:.3f} s", file=sys.stderr)
    # In the short round other tests share the machine.
    assert seconds < (GONE if thorough() else PATIENCE), f"a worker was alive after {seconds:.2f} s"
    assert ended == status, f"exit status {ended}, expected {status}\n{terminal.text()[-2000:]}"


def end_it(program: Program, end: End) -> None:
    """End a program that runs."""
    with Terminal(*program.how, *program.arguments, patience=program.patience) as terminal:
        program.ready(terminal)
        family = terminal.family()
        assert family, "no worker to be seen"
        program.before(terminal)
        began = time.monotonic()
        end.act(terminal)
        judge(terminal, family, began, end.screen if program.is_screen else end.other)
        if end.restores and program.is_screen:
            terminal.assert_sane()
        assert end.says in terminal.text()
        assert end.says or "Traceback" not in terminal.text(), terminal.text()[-2000:]


def add(name: str, program: Program, end: End, what: str = "", short: bool = False) -> None:
    """Add the fault of one end of one program: no worker alive after a second, the terminal restored."""
    seconds = 120.0 if program.patience == PATIENCE else program.patience + 120
    what = what or f"{end.what} of {program.what}"
    fault(name, what, times=program.times, short=short, seconds=seconds)(partial(end_it, program, end))


def add_all(program: Program, *ends: str, short: Sequence[str] = ()) -> None:
    """Add the faults of so many ends of one program."""
    for end in ends:
        add(f"end-{program.name}-{end}{program.suffix}", program, KILLED[end], short=end in short)


add_all(SCREEN, "kill", "sigterm", "sighup", "sigint", "ctrl-c", "closed", short=("kill", "ctrl-c", "closed"))
for name, what, module, function, key in (
    ("handler", "what a key does", "concwatch.ui.chart_commands", "ChartCommands.toggle_pause", "p"),
    ("step", "the lab", "concwatch.lab.lab", "Lab.step", ""),
    ("render", "a chart", "concwatch.ui.widgets.chart", "Chart.render_line", ""),
    ("closing", "its own end", "concwatch.lab.lab", "Lab.close", "q"),
):
    broken = SCREEN.breaking(module, function)
    add(f"end-screen-crash-{name}", broken, crash(key), f"crash of the screen in {what}", name == "step")
add_all(
    Program("screen", "the screen, as workers start", (), starting, suffix="-starting"), "kill", "sigterm"
)
add_all(SCREEN.stopped(), "sigterm", "closed", short=("sigterm",))
for name, what, engine, plusses, shown in (
    ("million", "a million tasks", "asyncio", 100, "1,000,000"),
    ("threads", "10,000 threads", "threads", 1, "10,000"),
):
    ready = partial(hold, times=plusses, shown=shown)
    heavy = replace(HEAVY, name=name, what=f"the screen with {what}", ready=ready)
    add_all(replace(heavy, arguments=("--engines", engine)), "kill", "sigterm", "closed")
add_all(RUN, "kill", "sigterm", "sighup", "sigint-twice", "ctrl-c", "closed", short=("sigterm",))
add("end-run-crash", RUN.breaking("concwatch.lab.lab", "Lab.step"), crash())
add_all(RUN.stopped(), "kill", "sigterm")
for suffix, what, arguments, ready in (
    (
        "-held",
        "run, with a task that lets nothing else of its worker run",
        ("run", "asyncio", "--tasks", "1", "--workload", "tests.faults.jobs:ablock_all"),
        held,
    ),
    (
        "-pages",
        "run with its page server",
        ("run", "asyncio", "--tasks", "100", "--seconds", "600", "--workload", "http:0.5"),
        pages,
    ),
):
    add_all(Program("run", what, arguments, ready, suffix), "kill", "sigterm")
EXPERIMENT = ("experiment", "memory-per-task", "--sizes", "1k", "--repeats", "50")
add_all(Program("experiment", "experiment", EXPERIMENT, has_family), "kill", "sigterm", "closed")
