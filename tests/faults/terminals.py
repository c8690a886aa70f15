"""Terminals that are tiny, huge, resized all the time, without colours, or hardly terminals at all."""

import random
import re
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tests.faults.fault import Fault
from tests.faults.terminal import PATIENCE, Terminal

STARTED = "10,000 tasks started"
RESIZES = 100
SIZES = ((1, 1), (20, 5), (59, 14), (80, 24), (120, 40), (200, 60), (300, 100), (2, 100), (300, 2))
"""What a terminal is resized to, one after another by chance."""


def start_and_end(
    size: tuple[int, int] = (120, 40),
    told: Mapping[str, str] | None = None,
    shown: str = "drag the slider",
    resizes: int = 0,
) -> str:
    """Have 10,000 tasks started by keys, ``resizes`` done meanwhile, and the program left by key."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        command = ("-m", "concwatch", "--engines", "asyncio", "--record", str(path))
        with Terminal(*command, size=size, told=told, patience=PATIENCE * (3 if resizes else 1)) as terminal:
            terminal.until(lambda: terminal.text().strip(), "something is drawn")
            terminal.until(lambda: shown in " ".join(terminal.text().split()), f"it says: {shown}")
            terminal.type("+")
            for _ in range(resizes):
                terminal.resize(*random.choice(SIZES))
                end = time.monotonic() + 0.02
                while time.monotonic() < end:
                    terminal.read(0.01)
            # What is recorded is not cut by any size.
            terminal.until(lambda: path.exists() and STARTED in path.read_text(), "10,000 tasks have started")
            if resizes:
                before = len(terminal.text())
                terminal.resize(119, 40)
                terminal.until(lambda: "what a task costs" in terminal.text()[before:], "all is drawn again")
            workers = terminal.family()
            assert workers
            terminal.type("q")
            assert terminal.ended() == 0, terminal.text()[-2000:]
            assert "Traceback" not in terminal.text()
            assert not terminal.family()
            terminal.assert_sane()
            check_colors(terminal, told or {})
    return ""


def check_colors(terminal: Terminal, told: Mapping[str, str]) -> None:
    """See that nothing but greys is asked for where no colours are wanted."""
    if "NO_COLOR" in told:
        colors = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", terminal.raw()))
        assert all(len(set(color)) == 1 for color in colors), colors


def refuses() -> str:
    """Have no terminal whose cursor can be moved."""
    with Terminal("-m", "concwatch", told={"TERM": "dumb"}) as terminal:
        assert terminal.ended() == 2
        (line,) = terminal.raw().splitlines()
        assert "needs a terminal whose cursor can be moved" in line
        assert 'use "concwatch run"' in line
        assert "\x1b" not in line
    return ""


DRAWN = "10,000 tasks are started by keys and ended by q, terminal restored"
SAYS = "says which size it needs; " + DRAWN

FAULTS: tuple[Fault, ...] = (
    Fault("terminal-1x1", "a terminal of 1 × 1", SAYS, partial(start_and_end, (1, 1), shown="")),
    Fault(
        "terminal-20x5",
        "a terminal of 20 × 5",
        SAYS,
        partial(start_and_end, (20, 5), shown="20 × 5 is too small"),
        short=False,
    ),
    Fault(
        "terminal-300x100", "a terminal of 300 × 100", DRAWN, partial(start_and_end, (300, 100)), short=False
    ),
    Fault(
        "terminal-no-mouse",
        "a terminal without a mouse",
        f"lanes and settings answer to keys alone; {DRAWN}",
        start_and_end,
        short=False,
    ),
    Fault(
        "terminal-0x0",
        "a terminal that does not know its size",
        DRAWN,
        partial(start_and_end, (0, 0)),
        short=False,
    ),
    Fault(
        "terminal-resized",
        f"{RESIZES} changes of size, 1 × 1 to 300 × 100, while 10,000 tasks start",
        f"all is drawn again at once; {DRAWN}",
        partial(start_and_end, resizes=RESIZES),
        seconds=180.0,
    ),
    Fault(
        "terminal-dumb",
        "TERM=dumb",
        "one line says what is needed and what to use instead, status 2",
        refuses,
    ),
    Fault(
        "terminal-no-color",
        "NO_COLOR",
        f"nothing but greys, and charts name their lines; {DRAWN}",
        partial(start_and_end, told={"NO_COLOR": "1"}),
        short=False,
    ),
)
