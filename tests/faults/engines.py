"""What an engine needs is not there, does not work, or is of a version that does not fit."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from concwatch.lab.lane_state import State
from tests.faults.fault import Fault, Impossible
from tests.faults.real_lab import ROOT, real_lab
from tests.faults.terminal import Terminal

PACKAGE = "uvloop/__init__.py"

ABSENT = "import sys; sys.modules['uvloop'] = None"
"""A ``sitecustomize`` that hides it from every finder, as if it were not installed."""

MEND = "try pip install --force-reinstall uvloop"

BROKEN: dict[str, tuple[str, str]] = {
    "unimportable": (
        "raise ImportError('libuv.so.1: cannot open shared object file')",
        "ImportError: libuv.so.1: ",
    ),
    "raising": ("1 / 0", "ZeroDivisionError: division by zero"),
    "crashing": (
        "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), 11)",
        "killed by SIGSEGV",
    ),
    "leaving": ("import os; os._exit(0)", "exited with status 0"),
    "too-old": ("__version__ = '0.0.1'", "AttributeError: module 'uvloop' has no attribute 'new_event_loop'"),
    "not-a-loop": (
        "__version__ = '99'\nclass Loop: pass\ndef new_event_loop(): return Loop()",
        "TypeError: ",
    ),
}
"""Name → the source of a package that stands before the real one, and what of it must be told."""


def need_uvloop() -> None:
    """See that there is one to be broken."""
    if sys.platform == "win32":
        raise Impossible("there is no uvloop for Windows")


def put(folder: str, place: str, source: str) -> Path:
    """Write a module that is found before all that is installed."""
    path = Path(folder, place)
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    return path


async def switched_on(source: str, told: str) -> None:
    """Switch on a lane whose package does not work, beside one that is well; mend the package, and again."""
    with TemporaryDirectory() as folder:
        package = put(folder, PACKAGE, source)

        def wrap(command: Sequence[str]) -> Sequence[str]:
            return ["env", f"PYTHONPATH={folder}", *command]

        async with real_lab("uvloop", "asyncio", wraps={"uvloop": wrap}) as real:
            lane, well = real.lab.lanes
            await real.holds(well, 100)
            real.lab.set_target(lane, 100)
            await real.settles(lane, State.FAILED)
            assert lane.worker.reason.startswith(f"broken uvloop: {told}"), lane.worker.reason
            assert lane.worker.reason.endswith(MEND), lane.worker.reason
            assert lane.missing == lane.worker.reason
            assert [text for text in real.told(lane) if "failed" in text] == [f"failed: {lane.worker.reason}"]
            await real.until(lambda: lane.idle, "nothing is left of it")
            await real.holds(well, 200)
            shutil.rmtree(package.parent)
            await real.holds(lane, 100)
            assert lane.missing is None
            assert well.live == 200


def broken(name: str) -> Callable[[], str]:
    """Return the injection of a broken package."""

    def inject() -> str:
        need_uvloop()
        asyncio.run(switched_on(*BROKEN[name]))
        return ""

    return inject


def concwatch(folder: str, *arguments: str) -> tuple[int, str, str]:
    """Run a command with ``folder`` before all that is installed; give its exit status and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "concwatch", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def told_by_commands(source: str, place: str, reason: str) -> None:
    """See that every command says it in one line, and that the other engine is measured."""
    need_uvloop()
    with TemporaryDirectory() as folder:
        put(folder, place, source)
        status, out, _ = concwatch(folder, "engines")
        (line,) = [line for line in out.splitlines() if line.startswith("uvloop")]
        assert (status, line.endswith(f"cannot: {reason}")) == (0, True), line
        assert out.count("cannot: ") == 1, out
        status, out, err = concwatch(
            folder, "run", "uvloop", "asyncio", "--tasks", "100", "--seconds", "0", "--json"
        )
        assert status == 1
        absent, well = json.loads(out)["lanes"]
        assert (absent["state"], absent["reason"]) == ("failed", reason)
        assert (well["state"], well["peak_live"]) == ("done", 100)
        assert f"uvloop: failed: {reason}" in err.splitlines(), err


def told_by_screen(source: str, place: str, told: str) -> None:
    """See that the screen greys the engine out and says why, and that the other lanes work."""
    need_uvloop()
    with TemporaryDirectory() as folder:
        put(folder, place, source)
        with Terminal(
            "-m", "concwatch", "--engines", "uvloop,asyncio", told={"PYTHONPATH": folder}
        ) as terminal:
            terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
            terminal.type("1 ")
            terminal.until(lambda: "✕ cannot run" in terminal.text(), "the engine is greyed out")
            terminal.until(lambda: told in terminal.text(), "why")
            terminal.type("2+")
            terminal.until(lambda: "10,000 live" in terminal.text(), "the other lane works")
            terminal.type("q")
            assert terminal.ended() == 0
            assert "Traceback" not in terminal.text()


def absent() -> str:
    told_by_commands(ABSENT, "sitecustomize.py", "needs uvloop: pip install uvloop")
    return ""


def absent_on_screen() -> str:
    told_by_screen(ABSENT, "sitecustomize.py", "needs uvloop: pip install uvloop")
    return ""


def too_old() -> str:
    source, told = BROKEN["too-old"]
    told_by_commands(source, PACKAGE, f"broken uvloop: {told}; {MEND}")
    return ""


def too_old_on_screen() -> str:
    source, told = BROKEN["too-old"]
    told_by_screen(source, PACKAGE, f"failed: broken uvloop: {told}")
    return ""


COMMANDS = "`engines` and `run` say so in one line, with what to install; other engines are measured"
SCREEN = "its lane is greyed out with the reason; other lanes work"
LANE = SCREEN + "; once it is mended, on again works"

FAULTS: tuple[Fault, ...] = (
    Fault("uvloop-absent", "no uvloop", COMMANDS, absent),
    Fault("uvloop-absent-on-screen", "no uvloop, on the screen", SCREEN, absent_on_screen),
    Fault("uvloop-too-old-for-commands", "a uvloop without `new_event_loop`", COMMANDS, too_old, short=False),
    Fault(
        "uvloop-too-old-on-screen",
        "a uvloop without `new_event_loop`, on the screen",
        SCREEN,
        too_old_on_screen,
        short=False,
    ),
    Fault(
        "uvloop-unimportable", "a uvloop that cannot be imported", LANE, broken("unimportable"), short=False
    ),
    Fault("uvloop-raising", "a uvloop that raises when it is imported", LANE, broken("raising"), short=False),
    Fault("uvloop-crashing", "a uvloop that crashes when it is imported (SIGSEGV)", LANE, broken("crashing")),
    Fault(
        "uvloop-leaving",
        "a uvloop that ends the process when it is imported",
        LANE,
        broken("leaving"),
        short=False,
    ),
    Fault("uvloop-too-old", "a uvloop of another version, without `new_event_loop`", LANE, broken("too-old")),
    Fault("uvloop-not-a-loop", "a uvloop whose loop does not run", LANE, broken("not-a-loop"), short=False),
)
