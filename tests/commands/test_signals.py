"""Real programs that get signals, bare and watched: they print the same and end with the same status."""

import contextlib
import difflib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from concwatch.system.child import concwatch_command

pytestmark = [
    pytest.mark.real,
    pytest.mark.apart,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

LIMIT = 90.0
"""Seconds to wait for anything."""

SCRIPT = """
    import asyncio, contextlib
    async def worker():
        try:
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(0.3)
            print("worker cleaned up", flush=True)
    async def main():
        workers = [asyncio.ensure_future(worker()) for _ in range(3)]
        await asyncio.sleep(0.1)
        print("ready", flush=True)
        try:
            await asyncio.sleep(600)
        finally:
            for each in workers: each.cancel()
            await asyncio.wait(workers)
            print("main cleaned up", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
    print("ended", flush=True)
"""

HANDLER = """
    import asyncio, signal
    async def main():
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        def handle(name):
            print("got", name, flush=True)
            asked.set()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT"):
            loop.add_signal_handler(getattr(signal, name), handle, name)
        print("ready", flush=True)
        await asked.wait()
        await asyncio.sleep(0.5)  # a second signal would be printed
        print("cleaned up", flush=True)
        raise SystemExit(3)
    asyncio.run(main())
"""

TESTS = """
    import asyncio, pytest, pytest_asyncio, time
    @pytest.fixture(scope="session", autouse=True)
    def database():
        yield
        time.sleep(0.3)
        print("database closed", flush=True)
    @pytest_asyncio.fixture
    async def client():
        yield
        await asyncio.sleep(0.3)
        print("client closed", flush=True)
    @pytest.mark.asyncio
    async def test_first(client):
        await asyncio.sleep(0.01)
    @pytest.mark.asyncio
    async def test_hangs(client):
        print("ready", flush=True)
        await asyncio.sleep(600)
"""

ASGI = """
    import asyncio, contextlib
    from starlette.applications import Starlette
    @contextlib.asynccontextmanager
    async def lifespan(app):
        pump = asyncio.create_task(asyncio.sleep(600))
        yield
        pump.cancel()
        await asyncio.sleep(0.3)
        print("pool closed", flush=True)
    application = Starlette(lifespan=lifespan)
"""

GUNICORN = """
    import atexit, sys
    def post_worker_init(worker): print("ready", file=sys.stderr, flush=True)
    def worker_exit(server, worker): print("worker exit", file=sys.stderr, flush=True)
    def on_reload(server): print("reload", file=sys.stderr, flush=True)
    def on_exit(server): print("on exit", file=sys.stderr, flush=True)
"""

WSGI = """
    def application(environ, start_response):
        start_response("200 OK", [])
        return [b"done"]
"""

CELERY = """
    import os, time
    from celery import Celery
    from celery.signals import worker_ready, worker_shutdown
    folder = os.environ["CELERY_FOLDER"]
    application = Celery("app", broker="filesystem://")
    application.conf.broker_transport_options = {
        "data_folder_in": folder, "data_folder_out": folder, "control_folder": folder,
    }
    @application.task
    def run():
        print("working", flush=True)
        time.sleep(8)
        print("worked", flush=True)
    @worker_ready.connect
    def begin(**_):
        run.delay()
    @worker_shutdown.connect
    def end(**_):
        print("shutdown", flush=True)
"""


QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


class Stack(NamedTuple):
    """A program, and how its output is compared.

    Args:
        files: what it consists of.
        command: its arguments after Python's; ``PORT`` stands for a free port.
        ready: what it has printed, so many times, when it can be signalled.
        survives: signals that do not end it, and what it prints, so many times, once it has handled them.
    """

    files: Mapping[str, str]
    command: Sequence[str]
    ready: tuple[str, int] = ("ready", 1)
    survives: Mapping[str, tuple[str, int]] = {}


STACKS = {
    "script": Stack({"app.py": SCRIPT}, ["app.py"]),
    "handler": Stack({"app.py": HANDLER}, ["app.py"]),
    "pytest": Stack(
        {"test_app.py": TESTS}, ["-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "test_app.py"]
    ),
    "xdist": Stack(
        {"test_app.py": TESTS.replace('print("ready", flush=True)', 'open("ready", "w").write("ready")')},
        ["-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "test_app.py"],
    ),
    "uvicorn": Stack(
        {"app.py": ASGI},
        ["-m", "uvicorn", "app:application", "--no-use-colors", "--port", "PORT"],
        ("Uvicorn running", 1),
    ),
    "uvicorn workers": Stack(
        {"app.py": ASGI},
        ["-m", "uvicorn", "app:application", "--no-use-colors", "--port", "PORT", "--workers", "2"],
        ("startup complete", 2),
        {"SIGHUP": ("startup complete", 4), "SIGUSR1": ("complete", 2), "SIGQUIT": ("complete", 2)},
    ),
    "gunicorn": Stack(
        {"app.py": WSGI, "gunicorn.conf.py": GUNICORN},
        ["-m", "gunicorn", "app:application", "-w", "2", "-b", "127.0.0.1:PORT"],
        ("ready", 2),
        {"SIGHUP": ("worker exit", 2), "SIGUSR1": ("Handling signal: usr1", 1)},
    ),
    "celery": Stack(
        {"app.py": CELERY},
        [*("-m", "celery", "-A", "app", "worker", "-P", "prefork", "-c", "2", "-l", "INFO"), *QUIET],
        ("working", 1),
        {"SIGUSR1": ("worked", 1)},
    ),
}

SIGNALS = ("ctrl-c", "SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT", "closed")
"""Signals are sent to the first process; Ctrl-C and a hangup by the terminal, to whom it sends them."""

NOISE = (
    (r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}", "0"),
    (r"\d+(\.\d+)?", "0"),
    # How far the workers of gunicorn get that a terminal interrupts before their master does differs bare,
    # too, and the master prints some lines if there is time.
    (r".*(Worker exiting|Worker \(pid:0\) was sent|Control socket listening) .*|worker exit", ""),
    (r"(?m)^[ {].*", ""),  # the stacks, and their variables, that celery prints for SIGUSR1
    (r"(?m)^\s*$\n", ""),
)
"""What differs between two runs: identifiers, numbers, and empty lines."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class SignalRun:
    """A program on a terminal of its own, whose first process leads the session."""

    def __init__(self, stack: Stack, folder: Path, way: str) -> None:
        self.stack, self.folder, self.way = stack, folder, way
        folder.mkdir()
        for name, text in stack.files.items():
            (folder / name).write_text(textwrap.dedent(text))
        (folder / "queue").mkdir()
        port = str(free_port())
        command = [sys.executable, *(part.replace("PORT", port) for part in stack.command)]
        if way != "bare":
            options = ["--json", str(folder / "report.json")] if way == "json" else []
            command = concwatch_command("watch", *options, "--", *command)
        # Unbuffered, Python writes a line and its end in two parts, between which others write.
        removed = ("PYTEST_", "NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED")
        env = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
        env |= {"TERM": "xterm-256color", "TMPDIR": str(folder), "CELERY_FOLDER": str(folder / "queue")}
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            for ignored in (signal.SIGINT, signal.SIGQUIT):  # as in what a shell runs in the background
                signal.signal(ignored, signal.SIG_DFL)
            os.chdir(folder)
            if way != "screen":
                file = os.open("out", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
                os.dup2(file, 1)
                os.dup2(file, 2)
            os.execvpe(command[0], command, env)
        os.set_inheritable(self.terminal, False)  # it is closed once no process has it
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        self.status: int | None = None
        self.shown = b""
        self.family: set[psutil.Process] = set()

    @property
    def output(self) -> str:
        """What the program has printed."""
        files = [self.folder / "out", *self.folder.glob("concwatch-*/output-*.log")]
        return "".join(file.read_text() for file in files if file.exists())

    def compared(self) -> list[str]:
        """Return the lines of the output without what differs between two runs, sorted."""
        text = self.output.replace(str(self.folder), "FOLDER")
        for pattern, replacement in NOISE:
            text = re.sub(pattern, replacement, text)
        return sorted(text.splitlines())

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition is true; the terminal is read meanwhile."""
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                shown = self.shown[-3000:].decode(errors="replace")
                raise AssertionError(f"{self.way}: no {what}: {self.output[-3000:]}\n{shown}")
            if self.terminal >= 0 and select.select([self.terminal], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.shown += os.read(self.terminal, 1 << 16)
                    continue
            time.sleep(0.05)

    def has_ended(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def printed(self, text: str, times: int) -> bool:
        ready = self.folder / "ready"
        output = self.output + (ready.read_text() if ready.exists() else "")
        return output.count(text) >= times

    def send(self, name: str) -> None:
        """Send a signal, as a terminal or as ``kill`` does."""
        if name == "ctrl-c":
            os.write(self.terminal, b"\x03")
        elif name == "closed":
            os.close(self.terminal)
            self.terminal = -1
        else:
            os.kill(self.pid, getattr(signal, name))

    def ends_with(self, name: str) -> list[str]:
        """Send a signal when the program is ready; return the lines that it printed, and its exit status."""
        self.until(lambda: self.printed(*self.stack.ready) or self.has_ended(), "start")
        with contextlib.suppress(psutil.Error):
            leader = psutil.Process(self.pid)
            self.family = {leader, *leader.children(recursive=True)}
        self.send(name)
        handled = self.stack.survives.get("SIGHUP" if name == "closed" else name)
        if handled:
            self.until(lambda: self.printed(*handled) or self.has_ended(), f"handling of {name}")
            if not self.has_ended():
                self.send("SIGTERM")
        self.until(self.has_ended, "end")
        assert self.status is not None
        return [*self.compared(), f"exit status {self.status}"]

    def close(self) -> None:
        """Kill what is left."""
        if self.terminal >= 0:
            os.close(self.terminal)
        for process in self.family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


REFERENCES = 3
"""How often a program is run bare until one run ends: celery seldom hangs when its terminal is closed."""


def reference(stack: Stack, name: str, folder: Path) -> list[str]:
    """Return what a program prints, and how it ends, bare.

    Raises:
        AssertionError: it has not ended in any run.
    """
    for attempt in range(REFERENCES):
        run = SignalRun(stack, folder / f"bare{attempt}", "bare")
        try:
            return run.ends_with(name)
        except AssertionError:
            if attempt == REFERENCES - 1:
                raise
        finally:
            run.close()
    raise AssertionError("unreachable")


@pytest.mark.parametrize("way", ["json", "screen"])
@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("stack", STACKS)
def test_a_program_that_gets_a_signal_prints_and_ends_as_it_does_bare(stack, name, way, tmp_path):
    bare = reference(STACKS[stack], name, tmp_path)
    run = SignalRun(STACKS[stack], tmp_path / way, way)
    try:
        watched = run.ends_with(name)
    finally:
        run.close()
    difference = "\n".join(difflib.unified_diff(bare, watched, "bare", way, lineterm="", n=0))
    assert not difference, f"{difference}\n\nThe whole output:\n{run.output}"
