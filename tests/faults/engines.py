"""What an engine needs is not there, does not work, or is of a version that does not fit."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from concwatch.lab.snapshot import State
from tests.apart import ROOT
from tests.faults.driving import real_lab
from tests.faults.fault import Impossible, fault
from tests.faults.terminal import Terminal

PACKAGE = "uvloop/__init__.py"
MEND = "try pip install --force-reinstall uvloop"
TOO_OLD = "AttributeError: module 'uvloop' has no attribute 'new_event_loop'"
CRASHES = "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), 11)"
NO_LOOP = "__version__ = '99'\nclass Loop: pass\ndef new_event_loop(): return Loop()"
LIBRARY = "libuv.so.1: cannot open shared object file"

BROKEN = {
    "unimportable": (
        "that cannot be imported",
        f"raise ImportError({LIBRARY!r})",
        "ImportError: libuv.so.1: ",
    ),
    "raising": ("that raises when it is imported", "1 / 0", "ZeroDivisionError: division by zero"),
    "crashing": ("that crashes when it is imported (SIGSEGV)", CRASHES, "killed by SIGSEGV"),
    "leaving": (
        "that ends the process when it is imported",
        "import os; os._exit(0)",
        "exited with status 0",
    ),
    "too-old": ("of another version, without `new_event_loop`", "__version__ = '0.0.1'", TOO_OLD),
    "not-a-loop": ("whose loop does not run", NO_LOOP, "TypeError: "),
}
"""Name → what it is like, the source that stands before the real one, and what of it must be told."""

ABSENT = ("sitecustomize.py", "import sys; sys.modules['uvloop'] = None")
"""Hides it from every finder, as if it were not installed."""


@contextmanager
def installed(place: str, source: str) -> Iterator[Path]:
    """Write a module that is found before all that is installed, and give the folder."""
    if sys.platform == "win32":
        raise Impossible("there is no uvloop for Windows")
    with TemporaryDirectory() as folder:
        path = Path(folder, place)
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        yield Path(folder)


async def switched_on(source: str, told: str) -> None:
    """Switch on a lane whose package does not work, beside one that is well; mend the package, and again."""
    with installed(PACKAGE, source) as folder:

        def wrap(command: Sequence[str]) -> Sequence[str]:
            return ["env", f"PYTHONPATH={folder}", *command]

        async with real_lab("uvloop", "asyncio", wrap=wrap) as real:
            lane, well = real.faulty, real.well
            await real.holds(100, well)
            real.lab.set_target(lane, 100)
            await real.becomes(State.FAILED)
            assert lane.worker.reason.startswith(f"broken uvloop: {told}"), lane.worker.reason
            assert lane.worker.reason.endswith(MEND), lane.worker.reason
            assert lane.missing == lane.worker.reason
            assert [text for text in real.told() if "failed" in text] == [f"failed: {lane.worker.reason}"]
            await real.until(lambda: lane.idle, "nothing is left of it")
            await real.holds(200, well)
            shutil.rmtree(folder / "uvloop")
            await real.holds(100)
            assert lane.missing is None
            assert well.live == 200


def concwatch(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command with ``folder`` before all that is installed; return exit status and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "concwatch", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def told_by_commands(place: str, source: str, reason: str) -> None:
    """See that every command says it in one line, and that the other engine is measured."""
    with installed(place, source) as folder:
        status, out, _ = concwatch(folder, "engines")
        (line,) = [line for line in out.splitlines() if line.startswith("uvloop")]
        assert (status, line.endswith(f"cannot: {reason}")) == (0, True), line
        assert out.count(f"cannot: {reason}") == 1, out
        asked = ("run", "uvloop", "asyncio", "--tasks", "100", "--seconds", "0", "--json")
        status, out, err = concwatch(folder, *asked)
        assert status == 1
        absent, well = json.loads(out)["lanes"]
        assert (absent["state"], absent["reason"]) == ("failed", reason)
        assert (well["state"], well["peak_live"]) == ("done", 100)
        assert f"uvloop: failed: {reason}" in err.splitlines(), err


def told_by_screen(place: str, source: str, reason: str) -> None:
    """See that the screen greys the engine out and says why, and that the other lanes work."""
    with (
        installed(place, source) as folder,
        Terminal(
            "-m", "concwatch", "--engines", "uvloop,asyncio", told={"PYTHONPATH": str(folder)}
        ) as terminal,
    ):
        terminal.is_shown()
        terminal.type("1 ")
        terminal.says("✕ cannot run")
        terminal.says(reason.partition(";")[0])
        terminal.type("2+")
        terminal.says("10,000 live")
        terminal.quits()


for suffix, where, told in (
    ("for-commands", "", told_by_commands),
    ("on-screen", ", on the screen", told_by_screen),
):
    absent = f"uvloop-absent{'-on-screen' * bool(where)}"
    fault(absent, f"no uvloop{where}", short=not where)(
        partial(told, *ABSENT, "needs uvloop: pip install uvloop")
    )
    fault(f"uvloop-too-old-{suffix}", f"a uvloop without `new_event_loop`{where}")(
        partial(told, PACKAGE, BROKEN["too-old"][1], f"broken uvloop: {TOO_OLD}; {MEND}")
    )
for name, (what, source, reason) in BROKEN.items():
    fault(f"uvloop-{name}", f"a uvloop {what}", short=name == "crashing")(
        partial(switched_on, source, reason)
    )
