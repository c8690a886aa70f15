"""The package of an engine is missing, broken, or too old."""

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

from concwatch.monitor.metrics.state import State
from tests.apart import ROOT
from tests.faults.driving import real_lab
from tests.faults.fault import Impossible, fault
from tests.faults.terminal import Terminal

PACKAGE = "uvloop/__init__.py"
ADVICE = "try pip install --force-reinstall uvloop"
TOO_OLD = "AttributeError: module 'uvloop' has no attribute 'new_event_loop'"
CRASHES = "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), 11)"
NO_LOOP = "__version__ = '99'\nclass Loop: pass\ndef new_event_loop(): return Loop()"
LIBRARY = "libuv.so.1: cannot open shared object file"

BROKEN = {
    "unimportable": ("cannot be imported", f"raise ImportError({LIBRARY!r})", "ImportError: libuv.so.1: "),
    "raising": ("raises when imported", "1 / 0", "ZeroDivisionError: division by zero"),
    "crashing": ("crashes when imported (SIGSEGV)", CRASHES, "killed by SIGSEGV"),
    "leaving": ("exits when imported", "import os; os._exit(0)", "exited with status 0"),
    "too-old": ("too old (no `new_event_loop`)", "__version__ = '0.0.1'", TOO_OLD),
    "not-a-loop": ("its loop does not run", NO_LOOP, "TypeError: "),
}
"""Name → title, source of the broken module, expected start of the reason."""

ABSENT = ("sitecustomize.py", "import sys; sys.modules['uvloop'] = None")
"""Makes the import fail as if the package were not installed."""


@contextmanager
def installed(place: str, source: str) -> Iterator[Path]:
    """Write a module that shadows an installed one. Yield its folder."""
    if sys.platform == "win32":
        raise Impossible("there is no uvloop for Windows")
    with TemporaryDirectory() as folder:
        path = Path(folder, place)
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        yield Path(folder)


async def check_lane(source: str, reason: str) -> None:
    """Start a lane with a broken package beside a healthy lane. Repair the package and start it again."""
    with installed(PACKAGE, source) as folder:

        def wrap(command: Sequence[str]) -> Sequence[str]:
            return ["env", f"PYTHONPATH={folder}", *command]

        async with real_lab("uvloop", "asyncio", wrap=wrap) as real:
            lane, healthy = real.faulty, real.healthy
            await real.hold(100, healthy)
            real.lab.set_target(lane, 100)
            await real.wait_for_state(State.FAILED)
            assert lane.worker.life.reason.startswith(f"broken uvloop: {reason}"), lane.worker.life.reason
            assert lane.worker.life.reason.endswith(ADVICE), lane.worker.life.reason
            assert lane.worker.missing == lane.worker.life.reason
            assert [text for text in real.events() if "failed" in text] == [
                f"failed: {lane.worker.life.reason}"
            ]
            await real.until(lambda: lane.idle, "the worker has ended")
            await real.hold(200, healthy)
            shutil.rmtree(folder / "uvloop")
            await real.hold(100)
            assert lane.worker.missing is None
            assert healthy.live == 200


def concwatch(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command with ``folder`` first on the path. Return its exit status, output and errors."""
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


def check_commands(place: str, source: str, reason: str) -> None:
    """Check that every command shows the reason on one line and measures the other engine."""
    with installed(place, source) as folder:
        status, out, _ = concwatch(folder, "engines")
        (line,) = [line for line in out.splitlines() if line.startswith("uvloop")]
        assert (status, line.endswith(f"unavailable ({reason})")) == (0, True), line
        assert out.count(f"unavailable ({reason})") == 1, out
        command = ("run", "uvloop", "asyncio", "--tasks", "100", "--seconds", "0", "--json")
        status, out, err = concwatch(folder, *command)
        assert status == 1
        absent, healthy = json.loads(out)["lanes"]
        assert (absent["state"], absent["reason"]) == ("failed", reason)
        assert (healthy["state"], healthy["peak_live"]) == ("done", 100)
        assert f"uvloop: failed: {reason}" in err.splitlines(), err


def check_screen(place: str, source: str, reason: str) -> None:
    """Check that the screen disables the engine with the reason, and that the other lane works."""
    command = ("-m", "concwatch", "--engines", "uvloop,asyncio")
    with (
        installed(place, source) as folder,
        Terminal(*command, env={"PYTHONPATH": str(folder)}) as terminal,
    ):
        terminal.wait_for_screen()
        terminal.type("1 ")
        terminal.wait_for_text("✕ cannot run")
        terminal.wait_for_text(reason.partition(";")[0])
        terminal.type("2+")
        terminal.wait_for_text("10,000 live")
        terminal.quit()


for suffix, what, check in (
    ("for-commands", "uvloop in commands", check_commands),
    ("on-screen", "uvloop on the screen", check_screen),
):
    fault(f"uvloop-absent-{suffix}", f"{what}: not installed")(
        partial(check, *ABSENT, "needs uvloop: pip install uvloop")
    )
    fault(f"uvloop-too-old-{suffix}", f"{what}: too old")(
        partial(check, PACKAGE, BROKEN["too-old"][1], f"broken uvloop: {TOO_OLD}; {ADVICE}")
    )
for name, (what, source, reason) in BROKEN.items():
    fault(f"uvloop-{name}", f"uvloop: {what}")(partial(check_lane, source, reason))
