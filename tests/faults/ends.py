"""However the program ends, no worker outlives it, and the terminal is given back where a process can."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec

import psutil

from tests.faults.driving import thorough
from tests.faults.fault import Fault, Impossible
from tests.faults.terminal import PATIENCE, Terminal, alive, set_size

GONE = 1.0
"""Seconds after which no worker may be alive."""

TIMES = 50
HEAVY_TIMES = 3
HEAVY_PATIENCE = 240.0

LOST = 141
"""Exit status for an output that nobody reads any more: 128 + SIGPIPE."""


def limit() -> float:
    """Return the seconds in which all must have gone: in the ordinary suite other tests share the machine."""
    return GONE if thorough() else PATIENCE


@dataclass(frozen=True)
class Program:
    """A way to have workers run."""

    name: str
    what: str
    arguments: tuple[str, ...]
    ready: Callable[[Terminal], object]
    """Waits until its tasks are live."""
    patience: float = PATIENCE


@dataclass(frozen=True)
class End:
    """A way to end, or to be ended."""

    name: str
    what: str
    act: Callable[[Terminal], object]
    statuses: Mapping[str, int]
    """Exit status of the screen and of the other commands."""
    restores: bool = True
    """Whether the process has a chance to give the terminal back."""
    tells: str = ""
    """What it must say."""


def both(screen: int, other: int | None = None) -> dict[str, int]:
    return {"screen": screen, "run": screen if other is None else other}


def by(number: int) -> Callable[[Terminal], object]:
    return lambda terminal: terminal.process.send_signal(number)


# Programs that run.


def plus(times: int, shown: str, terminal: Terminal) -> None:
    terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
    terminal.type("t" + "+" * times)  # untraced: it starts them sooner
    terminal.until(lambda: f"{shown} live" in terminal.text(), f"{shown} tasks are live")


def hold(times: int, shown: str, terminal: Terminal) -> None:
    """Have tasks wait until they are told to stop: the first sleepers would end before the last come."""
    terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
    terminal.type("w")
    terminal.until(lambda: "what each task does" in terminal.text(), "it asks for the workload")
    terminal.type("hold\r")  # in place of what stands there, which is selected
    terminal.until(lambda: "hold ▾" in terminal.text(), "the workload is chosen")
    plus(times, shown, terminal)


def says(text: str, times: int, terminal: Terminal) -> None:
    terminal.until(lambda: terminal.text().count(text) >= times, text)


def starting(terminal: Terminal) -> None:
    """Switch four lanes on, and stop looking at a moment by chance."""
    terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
    terminal.type("1 2 3 4 ")
    terminal.until(terminal.family, "a worker starts")
    end = time.monotonic() + random.uniform(0, 0.3)
    while time.monotonic() < end:
        terminal.read(0.005)


def held(terminal: Terminal) -> None:
    says("starting 1 task", 1, terminal)
    (worker,) = terminal.family()
    used = worker.cpu_times().user
    terminal.until(lambda: worker.cpu_times().user > used + 0.3, "the task runs")


SCREEN = Program("screen", "the screen", ("--engines", "asyncio"), partial(plus, 1, "10,000"))
STARTING = Program("screen", "the screen, as workers start", (), starting)
MILLION = Program(
    "screen",
    "the screen with a million tasks",
    ("--engines", "asyncio"),
    partial(hold, 100, "1,000,000"),
    patience=HEAVY_PATIENCE,
)
THREADS = Program(
    "screen",
    "the screen with 10,000 threads",
    ("--engines", "threads"),
    partial(hold, 1, "10,000"),
    patience=HEAVY_PATIENCE,
)
HOLD = ("--tasks", "1000", "--seconds", "600")
RUN = Program(
    "run",
    "run",
    ("run", "asyncio", "threads", "--together", *HOLD),
    partial(says, "holding 1,000", 2),
)
PAGES = Program(
    "run",
    "run with its page server",
    ("run", "asyncio", "--tasks", "100", "--seconds", "600", "--workload", "http:0.5"),
    partial(says, "holding ", 1),
)
HELD = Program(
    "run",
    "run, with a task that lets nothing else of its worker run",
    ("run", "asyncio", "--tasks", "1", "--workload", "tests.faults.holding:hold"),
    held,
)
EXPERIMENT = Program(
    "run",
    "experiment",
    ("experiment", "memory-per-task", "--sizes", "1k", "--repeats", "50"),
    lambda terminal: terminal.until(terminal.family, "a worker runs"),
)

# Ends.

KILL = End("kill", "kill -9", by(signal.SIGKILL), both(-9), restores=False)
SIGTERM = End("sigterm", "SIGTERM", by(signal.SIGTERM), both(143))
SIGHUP = End("sighup", "SIGHUP", by(signal.SIGHUP), both(129))
SIGINT = End("sigint", "SIGINT", by(signal.SIGINT), both(130))
TWICE = End("sigint-twice", "SIGINT twice", lambda t: (by(2)(t), by(2)(t)), both(130))
CTRL_C = End("ctrl-c", "Ctrl-C typed", lambda terminal: terminal.type("\x03"), both(0, 130))
CLOSED = End("closed", "terminal closed", Terminal.close, both(129), restores=False)


def crashed(key: str = "") -> End:
    """The crash of what has been broken, once ``key`` has been pressed for it."""
    return End(
        "crash",
        "crash",
        lambda terminal: (by(signal.SIGUSR1)(terminal), terminal.type(key)),
        both(1),
        tells="what nobody foresaw",
    )


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


def crashing(module: str, owner: str, name: str) -> tuple[str, str]:
    """Return the program with one of its functions broken as soon as SIGUSR1 has come."""
    return "-c", CRASH.format(module=module, owner=owner, name=name)


# What is done with them.


def wait_until_gone(terminal: Terminal, family: Sequence[psutil.Process], began: float) -> float:
    """Read on until none of ``family`` runs; give the seconds since ``began``."""
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
    assert seconds < limit(), f"a worker was alive after {seconds:.2f} s"
    assert ended == status, f"exit status {ended}, expected {status}\n{terminal.text()[-2000:]}"


def inject(
    program: Program,
    end: End,
    how: tuple[str, ...] = ("-m", "concwatch"),
    before: Callable[[Terminal], object] = lambda terminal: None,
) -> str:
    """End a program that runs, once ``before`` has been done to it."""
    with Terminal(*how, *program.arguments, patience=program.patience) as terminal:
        program.ready(terminal)
        family = terminal.family()
        assert family, "no worker to be seen"
        before(terminal)
        began = time.monotonic()
        end.act(terminal)
        judge(terminal, family, began, end.statuses[program.name])
        if end.restores and program.name == "screen":
            terminal.assert_sane()
        assert end.tells in terminal.text()
        assert end.tells or "Traceback" not in terminal.text(), terminal.text()[-2000:]
    return ""


def stop_workers(terminal: Terminal) -> None:
    for process in terminal.family():
        process.suspend()


def inject_pages(end: End) -> str:
    if find_spec("aiohttp") is None:
        raise Impossible("aiohttp is not installed")
    return inject(PAGES, end)


# Streams that are gone.


@dataclass
class Streams:
    """Descriptors in place of the terminal's, closed when it is over."""

    theirs: dict[str, int] = field(default_factory=dict)
    ours: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> "Streams":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (*self.theirs.values(), *self.ours.values()):
            with suppress(OSError):
                os.close(descriptor)

    def pipe(self, name: str) -> None:
        ours, theirs = os.pipe() if name != "stdin" else os.pipe()[::-1]
        self.theirs[name], self.ours[name] = theirs, ours

    def terminal(self, name: str) -> None:
        self.ours[name], self.theirs[name] = os.openpty()
        set_size(self.theirs[name], (120, 40))

    def open(self, name: str, path: str) -> None:
        self.theirs[name] = os.open(path, os.O_RDWR)

    def started(self) -> None:
        """Close what is the program's alone, so that an end is one."""
        for descriptor in self.theirs.values():
            os.close(descriptor)
        self.theirs.clear()

    def lose(self, name: str) -> None:
        os.close(self.ours.pop(name))


def lose_output() -> str:
    """Have the reader of a run's standard output die."""
    with Streams() as streams:
        streams.pipe("stdout")
        with Terminal("-m", "concwatch", *RUN.arguments, streams=streams.theirs) as terminal:
            streams.started()
            RUN.ready(terminal)
            family = terminal.family()
            began = time.monotonic()
            streams.lose("stdout")
            judge(terminal, family, began, LOST)
            assert "Traceback" not in terminal.text()
    return ""


def lose_screen_input() -> str:
    """Close the terminal from which the screen's keys come; what it is drawn on stays."""
    with Streams() as streams:
        streams.terminal("stdin")
        with Terminal("-m", "concwatch", streams=streams.theirs) as terminal:
            streams.started()
            terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
            os.write(streams.ours["stdin"], b"3+")
            terminal.until(lambda: "10,000 live" in terminal.text(), "10,000 tasks are live")
            family = terminal.family()
            began = time.monotonic()
            streams.lose("stdin")
            judge(terminal, family, began, 129)
    return ""


BRIEF = ("-m", "concwatch", "run", "asyncio", "--tasks", "1000", "--seconds", "0.2")


def brief_run(
    prepare: Callable[[Streams], object], status: int, shown: str, begun: Sequence[str] = ()
) -> str:
    """Have a short run go on to its end, whatever ``begun`` has lost once it runs."""
    with Streams() as streams:
        prepare(streams)
        with Terminal(*BRIEF, streams=streams.theirs) as terminal:
            streams.started()
            terminal.until(terminal.family, "a worker runs")
            family = terminal.family()
            for name in begun:
                streams.lose(name)
            assert terminal.ended() == status, terminal.text()[-2000:]
            judge(terminal, family, time.monotonic(), status)
            assert shown in terminal.text(), terminal.text()
            assert "Traceback" not in terminal.text()
    return ""


def no_streams() -> str:
    """Start the program with all three closed."""
    command = f'exec "{sys.executable}" -m concwatch run asyncio --tasks 1000 --seconds 0.2 <&- >&- 2>&-'
    shell = ("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])", command)
    with Terminal(*shell) as terminal:
        terminal.until(terminal.family, "a worker runs")
        judge(terminal, terminal.family(), time.monotonic(), 0) if terminal.ended() == 0 else None
        assert terminal.ended() == 0, "it does not run without its streams"
    return ""


def no_terminal() -> str:
    """Start the screen with one of its streams closed or led elsewhere, and see that it says so."""
    for closed in ("0<&-", "0</dev/null", "1>/dev/null", "0</dev/null 2>&1 1>/dev/full"):
        command = f'exec "{sys.executable}" -m concwatch {closed}'
        shell = ("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])", command)
        with Terminal(*shell) as terminal:
            assert terminal.ended() == 2, terminal.text()
            (line,) = terminal.text().strip().splitlines()
            assert "needs a terminal" in line
            assert 'use "concwatch run"' in line
    return ""


# The rows.

NONE_LEFT = "no worker alive after 1 s"
RESTORED = f"{NONE_LEFT}, terminal restored"


def fault(program: Program, end: End, name: str = "", **options: object) -> Fault:
    inject_ = options.pop("inject", None) or partial(inject, program, end)
    holds = RESTORED if end.restores and program.name == "screen" else NONE_LEFT
    if end.tells:
        holds += ", a traceback, exit status 1"
    return Fault(
        name or f"end-{program.name}-{end.name}",
        f"{end.what} of {program.what}",
        holds,
        inject_,
        **{"times": TIMES, "seconds": 120.0, **options},
    )


def stopped(program: Program, end: End, **options: object) -> Fault:
    return fault(
        replace(program, what=f"{program.what}, its workers stopped by SIGSTOP"),
        end,
        f"end-{program.name}-{end.name}-stopped",
        inject=partial(inject, program, end, before=stop_workers),
        **options,
    )


def crash(name: str, what: str, module: str, owner: str, function: str, key: str = "") -> Fault:
    return Fault(
        f"end-screen-crash-{name}",
        f"crash of the screen in {what}",
        f"{RESTORED}, a traceback, exit status 1",
        partial(inject, SCREEN, crashed(key), crashing(module, owner, function)),
        times=TIMES,
        short=name == "step",
        seconds=120.0,
    )


def heavy(program: Program, name: str, end: End) -> Fault:
    return fault(
        program, end, f"end-{name}-{end.name}", times=HEAVY_TIMES, short=False, seconds=HEAVY_PATIENCE + 120
    )


FAULTS: tuple[Fault, ...] = (
    fault(SCREEN, KILL),
    fault(SCREEN, SIGTERM),
    fault(SCREEN, SIGHUP, short=False),
    fault(SCREEN, SIGINT, short=False),
    fault(SCREEN, CTRL_C),
    fault(SCREEN, CLOSED),
    Fault(
        "end-screen-input-gone",
        "the terminal closed that the screen's keys come from",
        NONE_LEFT,
        lose_screen_input,
        times=TIMES,
        short=False,
    ),
    crash("handler", "what a key does", "concwatch.ui.chart_control", "ChartControl", "pause", "p"),
    crash("step", "the lab", "concwatch.lab.lab", "Lab", "step"),
    crash("render", "a chart", "concwatch.ui.widgets.chart", "Chart", "render_line"),
    crash("closing", "its own end", "concwatch.lab.lab", "Lab", "close", "q"),
    fault(STARTING, KILL, "end-screen-kill-starting", short=False),
    fault(STARTING, SIGTERM, "end-screen-sigterm-starting", short=False),
    stopped(SCREEN, SIGTERM),
    stopped(SCREEN, CLOSED, short=False),
    *(
        heavy(program, name, end)
        for program, name in ((MILLION, "million"), (THREADS, "threads"))
        for end in (KILL, SIGTERM, CLOSED)
    ),
    fault(RUN, KILL),
    fault(RUN, SIGTERM),
    fault(RUN, SIGHUP, short=False),
    fault(RUN, TWICE),
    fault(RUN, CTRL_C, short=False),
    fault(RUN, CLOSED),
    fault(
        RUN,
        crashed(),
        short=False,
        inject=partial(inject, RUN, crashed(), crashing("concwatch.lab.lab", "Lab", "step")),
    ),
    stopped(RUN, KILL, short=False),
    stopped(RUN, SIGTERM, short=False),
    fault(HELD, KILL, "end-run-kill-held", short=False),
    fault(HELD, SIGTERM, "end-run-sigterm-held"),
    fault(PAGES, KILL, "end-run-kill-pages", inject=partial(inject_pages, KILL), short=False),
    fault(PAGES, SIGTERM, "end-run-sigterm-pages", inject=partial(inject_pages, SIGTERM), short=False),
    fault(EXPERIMENT, KILL, "end-experiment-kill", short=False),
    fault(EXPERIMENT, SIGTERM, "end-experiment-sigterm", short=False),
    fault(EXPERIMENT, CLOSED, "end-experiment-closed", short=False),
    Fault(
        "end-run-output-gone",
        "the reader of run's standard output ended",
        f"{NONE_LEFT}, exit status {LOST}",
        lose_output,
        times=TIMES,
    ),
    Fault(
        "end-run-output-full",
        "run's standard output on a full disk",
        "the run goes on to its end; one line says that the result is lost, exit status 1",
        partial(brief_run, lambda streams: streams.open("stdout", "/dev/full"), 1, "No space left on device"),
        short=False,
    ),
    Fault(
        "end-run-error-gone",
        "the reader of run's standard error ended",
        "the run goes on to its end and gives its result",
        partial(brief_run, lambda streams: streams.pipe("stderr"), 0, "RSS/task", ("stderr",)),
        short=False,
    ),
    Fault(
        "end-run-input-gone",
        "run's standard input ended",
        "the run goes on to its end and gives its result",
        partial(brief_run, lambda streams: streams.pipe("stdin"), 0, "RSS/task", ("stdin",)),
        short=False,
    ),
    Fault(
        "end-run-streams-closed",
        "run with all its streams closed",
        "it runs to its end",
        no_streams,
        short=False,
    ),
    Fault(
        "end-screen-no-terminal",
        "the screen without a terminal",
        "one line says what is needed and what to use instead, exit status 2",
        no_terminal,
        short=False,
    ),
)
