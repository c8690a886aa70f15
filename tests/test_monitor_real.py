"""The monitor with real workers: under Pilot, and as a program in a terminal of its own."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import psutil
import pytest

from concwatch.lab.catalog import CATALOG
from concwatch.lab.lab import Lab
from concwatch.lab.lane import State
from concwatch.ui.app import ConcwatchApp
from tests.screen import Stage, Workers

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 30.0
"""Seconds that anything may take on a loaded machine."""

MODES = {"alternate screen": ("h", 1049), "mouse": ("h", 1000), "cursor hidden": ("l", 25)}
"""What a terminal is asked for: whether by setting or by resetting which of its private modes."""


async def test_dragging_to_10_000_starts_10_000_real_tasks_whose_memory_is_seen():
    before = set(psutil.Process().children(recursive=True))
    engine = next(row for row in CATALOG if row.name == "asyncio")
    app = ConcwatchApp(lambda: Lab([engine]))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        s = Stage(app, pilot, Workers(), None)
        await s.until(lambda: s.app.lab is not None and app.screen.query("LaneCard"), "the monitor shows")
        lane = s.lane("asyncio")
        await s.tap("○ off", s.card("asyncio"))
        await s.until(lambda: lane.state is State.RUNNING, "the worker stands")
        await s.sees("● on", "0 live", within=s.card("asyncio"))
        idle = lane.reading.rss
        (worker,) = set(psutil.Process().children(recursive=True)) - before
        assert worker.pid == lane.ready.pid
        await s.drag("asyncio", 10_000, by_way_of=[1_000])
        await s.sees("10,000 → about +12 MiB", within=s.card("asyncio"))
        assert lane.live == 0
        await s.drop("asyncio", 10_000)
        await s.until(lambda: lane.live == 10_000, "10,000 tasks are live")
        await s.sees("10,000 live", within=s.card("asyncio"))
        await s.until(lambda: lane.meter.cost is not None, "the cost is known")
        per_task = (lane.reading.rss - idle) / 10_000
        assert 1_000 <= per_task <= 4_000

        def shown():
            return re.match(r"asyncio 10,000 ([\d.]+) KiB ", s.row("asyncio"))

        await s.until(shown, "the cost table tells")
        assert float(shown()[1]) == pytest.approx(per_task / 1024, rel=0.25)
        assert abs(worker.memory_info().rss - lane.reading.rss) < 2 << 20
        await s.press("0")
        await s.until(lambda: lane.state is State.OFF, "the worker has ended")
        await s.until(lambda: not worker.is_running(), "its process is gone")
        await s.press("space")
        await s.until(lambda: lane.state is State.RUNNING, "another worker stands")
    assert set(psutil.Process().children(recursive=True)) == before


class Terminal:
    """``python -m concwatch`` on a pseudo-terminal of its own, 120 by 40."""

    def __init__(self, *command: str) -> None:
        self.got = b""
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.sane = termios.tcgetattr(theirs)

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self._theirs = theirs
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            preexec_fn=take_terminal,
        )
        self.monitor = psutil.Process(self.process.pid)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.workers() if self.process.poll() is None else []:
            process.kill()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self.close()
        os.close(self._theirs)

    def close(self) -> None:
        """Take the terminal away, as closing its window does."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def read(self, seconds: float = 0.05) -> None:
        """Take in what the program writes for so long; never let it wait for a reader."""
        if select.select([self._ours], [], [], seconds)[0]:
            self.got += os.read(self._ours, 1 << 16)

    def until(self, condition, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s\n{self.text()[-2000:]}"
            self.read()

    def text(self) -> str:
        """What came, without what moves and colours it."""
        return re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(\x1b\\|\x07)|.)", "", self.raw())

    def raw(self) -> str:
        return self.got.decode("utf-8", "replace")

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def workers(self) -> list[psutil.Process]:
        return self.monitor.children(recursive=True) if self.monitor.is_running() else []

    def switch_on(self) -> list[psutil.Process]:
        """Have the one lane hold 10,000 tasks, and give the worker's processes."""
        self.until(lambda: "drag to start" in self.text(), "the screen is shown")
        self.type("+")
        self.until(lambda: "10,000 live" in self.text(), "10,000 tasks are live")
        found = self.workers()
        assert len(found) == 1
        return found

    def ended(self) -> int:
        self.until(lambda: self.process.poll() is not None, "the program ends")
        while select.select([self._ours], [], [], 0)[0]:
            self.read(0)
        return self.process.returncode

    def assert_sane(self) -> None:
        raw = self.raw()
        for what, (on, number) in MODES.items():
            said = re.findall(rf"\x1b\[\?{number}([hl])", raw)
            assert on in said, f"never asked for: {what}"
            assert said[-1] != on, f"not taken back: {what}"
        assert termios.tcgetattr(self._theirs) == self.sane


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def end_by_quitting(terminal: Terminal) -> None:
    terminal.type("q")


def end_by_ctrl_c(terminal: Terminal) -> None:
    terminal.type("\x03")


def end_by_sigterm(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)


def end_by_sighup(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize(
    ("end", "status"),
    [(end_by_quitting, 0), (end_by_ctrl_c, 0), (end_by_sigterm, 143), (end_by_sighup, 129)],
    ids=["q", "ctrl-c", "SIGTERM", "SIGHUP"],
)
def test_the_program_ends_with_its_workers_and_gives_the_terminal_back(end, status):
    with Terminal("-m", "concwatch", "--engines", "asyncio") as terminal:
        workers = terminal.switch_on()
        end(terminal)
        assert terminal.ended() == status
        assert_gone(workers)
        terminal.assert_sane()
        assert "Traceback" not in terminal.text()


def test_kill_9_leaves_no_worker():
    with Terminal("-m", "concwatch", "--engines", "asyncio") as terminal:
        workers = terminal.switch_on()
        terminal.process.kill()
        assert terminal.ended() == -signal.SIGKILL
        assert_gone(workers)


@pytest.mark.parametrize("stopped", [False, True], ids=["alone", "with SIGHUP and SIGCONT"])
def test_closing_the_terminal_ends_the_program_and_its_workers(stopped):
    with Terminal("-m", "concwatch", "--engines", "asyncio") as terminal:
        workers = terminal.switch_on()
        terminal.close()
        if stopped:  # as the kernel does to the session in the foreground
            terminal.process.send_signal(signal.SIGHUP)
            terminal.process.send_signal(signal.SIGCONT)
        terminal.process.wait(PATIENCE)
        assert_gone(workers)


CRASH = """
import sys
from concwatch.ui.screens.monitor import MonitorScreen

def fall(self):
    raise RuntimeError("what nobody foresaw")

MonitorScreen.action_pause = fall
sys.argv = ["concwatch", "--engines", "asyncio"]
from concwatch.cli import main
main()
"""


def test_a_crash_ends_with_a_traceback_a_status_other_than_0_and_no_worker():
    with Terminal("-c", CRASH) as terminal:
        workers = terminal.switch_on()
        terminal.type("p")
        assert terminal.ended() == 1
        assert_gone(workers)
        terminal.assert_sane()
        assert "what nobody foresaw" in terminal.text()
