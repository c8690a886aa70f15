"""Terminals that are tiny, huge, often resized, without colours, or without cursor control."""

import random
import re
import tempfile
from functools import partial
from pathlib import Path

from tests.faults.fault import fault
from tests.faults.terminal import PATIENCE, Terminal

RESIZES = 100
SIZES = ((1, 1), (20, 5), (59, 14), (80, 24), (120, 40), (200, 60), (300, 100), (2, 100), (300, 2))
"""Sizes chosen at random."""


def start_and_end(
    size: tuple[int, int] = (120, 40),
    env: dict[str, str] | None = None,
    shown: str = "drag the slider",
    resizes: int = 0,
) -> None:
    """Start 10,000 tasks by keys, resize the terminal ``resizes`` times meanwhile, and quit by key."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        command = ("-m", "concwatch", "--engines", "asyncio", "--record", str(path))
        with Terminal(*command, size=size, env=env, patience=PATIENCE * (3 if resizes else 1)) as terminal:
            terminal.until(lambda: terminal.text().strip(), "something is drawn")
            terminal.until(lambda: shown in " ".join(terminal.text().split()), f"shown: {shown}")
            terminal.type("+")
            for _ in range(resizes):
                terminal.resize(*random.choice(SIZES))
                terminal.run(0.02)
            # The recording does not depend on the size.
            terminal.until(
                lambda: path.exists() and "10,000 tasks started" in path.read_text(), "10,000 have started"
            )
            if resizes:
                before = len(terminal.text())
                terminal.resize(119, 40)
                terminal.until(
                    lambda: "what a task costs" in terminal.text()[before:], "the screen is drawn again"
                )
            assert terminal.processes()
            terminal.quit()
            assert not terminal.processes()
            if env:  # only greys with NO_COLOR
                colors = set(re.findall(r"[34]8;2;(\d+);(\d+);(\d+)", terminal.raw()))
                assert all(len(set(color)) == 1 for color in colors), colors


for name, what, options in (
    ("1x1", "1 × 1", {"size": (1, 1), "shown": ""}),
    ("20x5", "20 × 5", {"size": (20, 5), "shown": "20 × 5 is too small"}),
    ("300x100", "300 × 100", {"size": (300, 100)}),
    ("no-mouse", "no mouse", {}),
    ("0x0", "unknown size (0 × 0)", {"size": (0, 0)}),
    ("resized", f"{RESIZES} resizes, 1 × 1 to 300 × 100, while 10,000 tasks start", {"resizes": RESIZES}),
    ("no-color", "NO_COLOR", {"env": {"NO_COLOR": "1"}}),
):
    fault(f"terminal-{name}", f"the terminal: {what}", seconds=180.0)(partial(start_and_end, **options))


@fault("terminal-dumb", "the terminal: TERM=dumb")
def refuses() -> None:
    """One line names the requirement and the alternative; exit status 2."""
    with Terminal("-m", "concwatch", env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_exit() == 2
        (line,) = terminal.raw().splitlines()
        assert "needs a terminal that can move the cursor" in line
        assert 'use "concwatch run"' in line
        assert "\x1b" not in line


@fault("terminal-no-utf8", "the terminal: a locale without UTF-8")
def refuses_other_encodings() -> None:
    """One line names the requirement and the alternative; exit status 2."""
    with Terminal("-m", "concwatch", env={"LC_ALL": "en_US.ISO-8859-1"}) as terminal:
        assert terminal.wait_exit() == 2
        (line,) = terminal.raw().splitlines()
        assert 'needs a UTF-8 locale, such as LC_ALL=C.UTF-8, but this one is "en_US.ISO-8859-1"' in line
