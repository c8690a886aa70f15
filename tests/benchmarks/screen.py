"""The real screen: how long the user waits for it, and its CPU time; 120x40 by default."""

import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import DEFAULT_HZ, Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import SHOWN
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.widgets.lanes.slider_scale import StopScale
from tests.benchmarks.figures import (
    MIB,
    Quantity,
    RowValues,
    against,
    alternate,
    benchmark,
    percentile,
    quiet,
)
from tests.benchmarks.terminal import CONCWATCH, DrawnTerminal
from tests.screen import experiment_lab

# Own CPU time, beside htop at 10 Hz. htop lists threads: beside a lane of 10,000 it takes ten times what it
# takes otherwise, even while it hides them. So its reference is its CPU time in the same run before any lane
# is on.

HTOP = "import os; os.execvp('htop', ['htop', '--delay=1'])"
HTOP_SETTINGS = "htop_version=3.2.2\nconfig_reader_min_version=3\nhide_userland_threads=1\n"
SIZES = {"": (120, 40), " at 200x60": (200, 60)}
ON_EACH, MEMBERS = "10k", ("threads", "pool", "asyncio", "uvloop")


def _run_together(seconds: float, *terminals: DrawnTerminal) -> list[float]:
    """Read all terminals for some seconds; return the per cent of a core that each program used."""
    before = [sum(terminal.monitor.cpu_times()[:2]) for terminal in terminals]
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        for terminal in terminals:
            terminal.read(0.05)
    used = [sum(terminal.monitor.cpu_times()[:2]) for terminal in terminals]
    return [(end - start) / (now - began) * 100 for start, end in zip(before, used, strict=True)]


def _own_cpu(size: tuple[int, int], seconds: float) -> tuple[float, dict[str, float], dict[str, object]]:
    """Return htop's per cent of a core, and concwatch's by what is on; and details."""
    own: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "htoprc"
        settings.write_text(HTOP_SETTINGS)
        htop = DrawnTerminal("-c", HTOP, env={"HTOPRC": str(settings), "TERM": "xterm-256color"})
        with DrawnTerminal(size=size) as screen, htop:
            screen.patience = 120.0  # other programs may use the cores
            screen.shows("4 uvloop")
            htop.shows("Load average")
            _run_together(3.0, screen, htop)
            own["nothing"], reference = _run_together(seconds, screen, htop)
            for lane, name in enumerate(MEMBERS, 1):
                screen.type(str(lane))
                screen.shows(f"▌{lane} {name}")
                screen.type(" ")
            screen.until(lambda: screen.text().count("● on ") >= len(MEMBERS) + 1)  # and that of refill
            _run_together(3.0, screen, htop)
            own["idle"], _ = _run_together(seconds, screen, htop)
            size_before = len(screen.output)
            for lane, name in enumerate(MEMBERS, 1):
                screen.type(str(lane))
                screen.shows(f"▌{lane} {name}")
                screen.type("+")
            screen.until(lambda: screen.text().count("10,000 live") >= len(MEMBERS))
            _run_together(10.0, screen, htop)
            own["load"], beside = _run_together(seconds, screen, htop)
            written = len(screen.output) - size_before
            screen.type("?")
            screen.shows("what does one more task cost?")
            _run_together(2.0, screen, htop)
            own["help"], _ = _run_together(seconds, screen, htop)
            rss = round(screen.monitor.memory_info().rss / MIB, 1)
    return reference, own, {"htop beside the load, %": beside, "bytes written": written, "RSS, MiB": rss}


@benchmark(
    "screen",
    Quantity("nothing", "concwatch's own CPU, all lanes off", "%", "≤ 0.6 ×", "htop at 10 Hz"),
    Quantity("idle", "the same, four idle lanes", "%", "≤ 1.5 ×", "htop at 10 Hz"),
    Quantity(
        "load", "the same, four lanes of 10,000 in the default workload", "%", "≤ 2.2 ×", "htop at 10 Hz"
    ),
    Quantity("load at 200x60", "the same at 200x60", "%", "≤ 3 ×", "htop at 10 Hz"),
    Quantity("help", "the same with the help open", "%", "≤ 1.1 ×", "without"),
)
def measure_cpu(quick: bool) -> Mapping[str, RowValues]:
    """Measure per cent of a core at the default rate, from outside; all sizes against htop at 120x40."""
    found = {name: RowValues() for name in ("nothing", "idle", "load", "load at 200x60", "help")}
    for _ in range(1 if quick else 3):
        for label, size in SIZES.items():
            quiet.wait()
            htop, own, detail = _own_cpu(size, 4.0 if quick else 12.0)
            for name in ("load",) if label else ("nothing", "idle", "load"):
                row = found[name + label]
                row.values.append(own[name])
                row.reference.append(htop)
                row.detail = detail
            if not label:
                found["help"].values.append(own["help"])
                found["help"].reference.append(own["load"])
    return found


# Keys that select a lane or change the charts' window are pressed at random moments while asyncio's worker
# creates 1,000,000 tasks; each is timed until the screen shows it. The same runs measure the spacing of the
# lane's RSS samples, relative to the interval.

TASKS = 1_000_000
PRESSES = 60
"""Total key presses; rounds are added until there are as many."""
MAX_ROUNDS = 4
CHARTS = 2
"""The charts that are checked: those in the left column, which no notice covers."""
COVERED = 56
"""The first column that a notice at the lower right may cover."""


class SampledLab(Lab):
    """A lab that records its samples of asyncio's worker: seconds, live tasks, target."""

    samples: ClassVar[list[tuple[float, int, int]]] = []

    def step(self, now: float | None = None) -> None:
        """Sample every lane once."""
        lane = next(lane for lane in self.lanes if lane.engine.name == "asyncio")
        before = len(lane.series)
        super().step(now)
        if len(lane.series) != before:
            self.samples.append((time.monotonic(), lane.live, lane.target.tasks))


def run_sampled(file: str, trace: bool) -> None:
    """Run the screen like ``concwatch`` does, and write the samples to ``file`` at its end."""
    gc.disable()  # as at every start; the app enables it again
    settings = Settings(workload="sleep:600", trace=trace)
    app = ConcwatchApp(lambda: SampledLab(SHOWN, settings=settings, open_link=open_process), experiment_lab)
    app.run()
    Path(file).write_text(json.dumps(SampledLab.samples))
    sys.exit(app.return_code or 0)


def _labelled(terminal: DrawnTerminal, label: str) -> bool:
    """Return whether all checked charts have ``label`` on their axis."""
    return sum(label in terminal.line(row)[:COVERED] for row in range(len(terminal.rows))) == CHARTS


def _press_keys(trace: bool, most: int) -> tuple[list[float], list[float], dict[str, object]]:
    """Press keys while the tasks are created; return the milliseconds, the samples' spacing, and details."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples"
        presses: list[float] = []
        code = f"from tests.benchmarks.screen import run_sampled as run; run({str(file)!r}, {trace})"
        with DrawnTerminal("-c", code) as terminal:
            terminal.shows("4 uvloop")
            terminal.type("3")
            terminal.shows("▌3 asyncio")
            terminal.type(" ")
            terminal.run(2.0)
            terminal.type("\x1b[F")
            began = time.monotonic()
            while not _labelled(terminal, "-60s"):  # at first the window is shorter
                terminal.type("]")
                terminal.run(1.0)
            done, lane, longer = f"{TASKS:,} live", "3", False
            while done not in terminal.text() and len(presses) < most:
                terminal.run(random.uniform(0.02, 0.22))
                if random.random() < 0.5:
                    lane = key = random.choice([number for number in "1234" if number != lane])
                    seen = partial(lambda lane: f"▌{lane} " in terminal.text(), lane)
                else:
                    key, longer = "[" if longer else "]", not longer
                    seen = partial(_labelled, terminal, "-2m" if longer else "-60s")
                pressed = terminal.type(key)
                presses.append((terminal.until(seen) - pressed) * 1e3)
            about = {"reached 1 M": done in terminal.text(), "seconds": round(time.monotonic() - began, 1)}
            terminal.type("q")
            terminal.wait_exit()
        samples = json.loads(file.read_text())
    times = [at for at, live, target in samples if live < target]
    spacing = [(after - before) * DEFAULT_HZ for before, after in pairwise(times)]
    return presses, spacing, about


TRACING = {"untraced": False, "traced": True}
"""With and without tracing, which is off by default."""


@benchmark(
    "keys",
    *(
        row
        for name in TRACING
        for row in (
            Quantity(f"keys-{name}", f"key to screen while 1 M start, {name}, p95", "ms", "≤ 60 ms"),
            Quantity(
                f"spacing-{name}", f"spacing of RSS samples then, {name}, p99", "intervals", "≤ 2.5 intervals"
            ),
        )
    ),
)
def measure_keys(quick: bool) -> Mapping[str, RowValues]:
    """Measure milliseconds from a key press to the screen that shows it."""
    rows: dict[str, RowValues] = {}
    for name, trace in TRACING.items():
        presses: list[float] = []
        spacing: list[float] = []
        rounds: list[object] = []
        while len(presses) < PRESSES and len(rounds) < (1 if quick else MAX_ROUNDS):
            quiet.wait()
            more, gaps, about = _press_keys(trace, 10 if quick else 150)
            presses += more
            spacing += gaps
            rounds.append(about)
        for row, values, share in (("keys", presses, 0.95), ("spacing", spacing, 0.99)):
            detail = {"count": len(values), "p50": percentile(values, 0.5), "max": max(values)}
            rows[f"{row}-{name}"] = RowValues(
                [percentile(values, share)], detail={**detail, "rounds": rounds}
            )
    return rows


# The first frame.

MINIMAL = """
from textual.app import App
from textual.widgets import Static

class Minimal(App):
    BINDINGS = [("q", "quit", "Quit")]

    def compose(self):
        yield Static("all is here")

Minimal().run()
"""

PARTS = ("▌1 threads", "4 uvloop", "collector", "─ RSS ", "─ ended / s ", "vm.max_map_count", "quit")
"""Texts that are on screen once it is complete, one from each part."""


def _first_frame(arguments: tuple[str, ...], texts: tuple[str, ...]) -> float:
    with DrawnTerminal(*arguments) as terminal:
        return (terminal.shows(*texts) - terminal.began) * 1e3


@benchmark("first-frame", Quantity("frame", "first whole frame", "ms", "≤ 1.3 ×", "minimal Textual app"))
def measure_first_frame(quick: bool) -> Mapping[str, RowValues]:
    """Measure both from exec, after one uncounted start of each, which may compile."""
    concwatch = partial(_first_frame, CONCWATCH, ("concwatch", *PARTS))
    minimal = partial(_first_frame, ("-c", MINIMAL), ("all is here",))
    minimal()
    concwatch()
    return {"frame": against(2 if quick else 21, concwatch, minimal)}


# Releasing a slider.


def drag(terminal: DrawnTerminal, card: str, tasks: int) -> float:
    """Drag a card's slider from 0 to ``tasks`` by mouse; return the time of the release."""
    row = terminal.row_of(card) + 1
    bar = terminal.line(row)
    knob = bar.index("●")
    width = len(bar[knob:]) - len(bar[knob:].lstrip("●─┬"))
    scale = StopScale()
    cell = next(cell for cell in range(width) if scale.value_at(cell, width) == tasks)
    terminal.mouse(0, row, knob)
    for step in range(1, 9):
        terminal.run(0.03)
        terminal.mouse(32, row, knob + round(cell * step / 8))
    terminal.shows(f"{tasks:,} → about")
    terminal.run(0.1)
    return terminal.mouse(0, row, knob + cell, release=True)


def _release(traced: bool) -> float:
    with DrawnTerminal() as terminal:
        terminal.shows("4 uvloop")
        terminal.type("3")
        terminal.shows("▌3 asyncio")
        wanted = f"traced     {'●' if traced else '○'} o"
        if wanted not in terminal.text():
            terminal.type("t")
            terminal.shows(wanted)
        terminal.type(" ")
        row = terminal.row_of("▌3 asyncio")
        terminal.until(lambda: "● on" in terminal.line(row)[:40])
        terminal.run(1.0 + time.monotonic() % 0.2)
        released = drag(terminal, "▌3 asyncio", 10_000)
        return terminal.shows("10,000 live") - released


@benchmark(
    "release",
    *(
        Quantity(name, f"slider released at 10,000 to 10,000 live, {name}", "s", "≤ 0.4 s")
        for name in TRACING
    ),
)
def measure_release(quick: bool) -> Mapping[str, RowValues]:
    """Measure from the release of asyncio's slider to the screen that shows it; the lane is on already."""
    measures = {name: partial(_release, traced) for name, traced in TRACING.items()}
    found = alternate(1 if quick else 7, **measures)
    return {name: RowValues(values, detail={"worst": max(values)}) for name, values in found.items()}
