"""Real services that are watched: lost throughput, a killed monitor, and processes found."""

import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil

from concwatch.commands.watching.watch_session import watched_in_background
from concwatch.system.child import concwatch_command
from tests.agent_driver import PATIENCE
from tests.benchmarks.figures import Quantity, RowValues, benchmark, quiet
from tests.benchmarks.terminal import DrawnTerminal

APP = """
import asyncio, json, sys
from concwatch import agent

if "agent" in sys.argv:
    agent.start()

def hooked():
    return hasattr(asyncio.BaseEventLoop.create_task, "__wrapped__")

async def work():
    await asyncio.sleep(0)

async def aiohttp_handle(request):
    from aiohttp import web
    await asyncio.create_task(work())
    return web.Response(text="%5d" % hooked())

async def starlette_handle(request):
    from starlette.responses import PlainTextResponse
    await asyncio.create_task(work())
    return PlainTextResponse("%5d" % hooked())

if sys.argv[1] == "aiohttp":
    from aiohttp import web
    app = web.Application()
    app.router.add_get("/", aiohttp_handle)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[2]), print=None, access_log=None)
else:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route
    app = Starlette(routes=[Route("/", starlette_handle)])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="critical", access_log=False)
"""

ASKS = """
import asyncio, json, sys, time
import uvloop

class Asks(asyncio.Protocol):
    answered, waits = 0, False
    def connection_made(self, transport):
        self.transport, self.got = transport, b""
    def ask(self):
        self.waits = True
        self.transport.write(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    def data_received(self, data):
        self.got += data
        head, found, body = self.got.partition(b"\\r\\n\\r\\n")
        if found and len(body) >= 5:
            self.got, self.waits = b"", False
            self.answered += 1
            self.take(head.startswith(b"HTTP/1.1 200"))
"""
"""A connection that sends requests; its ``take`` gets whether the answer was a page, and sends the next."""

STEADY_CLIENT = (
    ASKS
    + """
port, connections, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
failed, ended = 0, False

class Steadily(Asks):
    def connection_made(self, transport):
        super().connection_made(transport)
        self.due = time.monotonic()
        self.ask()
    def take(self, page):
        global failed
        failed += not page
        self.due = max(self.due + connections / rate, time.monotonic() - 1)
        asyncio.get_running_loop().call_later(max(0, self.due - time.monotonic()), self.ask)
    def connection_lost(self, error):
        global failed
        failed += not ended

async def main():
    global ended
    loop, began = asyncio.get_running_loop(), time.monotonic()
    made = [(await loop.create_connection(Steadily, "127.0.0.1", port))[1] for _ in range(connections)]
    await loop.run_in_executor(None, sys.stdin.read)
    ended = True
    answered = sum(each.answered for each in made)
    rate = answered / (time.monotonic() - began)
    print(json.dumps({"answered": answered, "failed": failed, "rate": rate}))
uvloop.run(main())
"""
)

CLIENT_IN_TURNS = (
    ASKS
    + """
ports, connections = json.loads(sys.argv[1]), int(sys.argv[2])
seconds, turns = float(sys.argv[3]), int(sys.argv[4])

class InTurns(Asks):
    asking = False
    def take(self, page):
        assert page
        if self.asking:
            self.ask()

async def main():
    loop, services = asyncio.get_running_loop(), []
    for port in ports:
        made = [await loop.create_connection(InTurns, "127.0.0.1", port) for _ in range(connections)]
        services.append([protocol for _, protocol in made])
    found = [[] for _ in ports]
    for turn in range(turns):
        for number in (range(len(ports)), reversed(range(len(ports))))[turn % 2]:
            asks, began = services[number], time.monotonic()
            before = sum(each.answered for each in asks)
            for each in asks:
                each.asking = True
                each.ask()
            await asyncio.sleep(seconds)
            found[number].append((sum(each.answered for each in asks) - before) / (time.monotonic() - began))
            for each in asks:
                each.asking = False
            while any(each.waits for each in asks):
                await asyncio.sleep(0.001)
    print(json.dumps(found))
uvloop.run(main())
"""
)


def _port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answer(port: int) -> bytes:
    """Return the body of one answer, or nothing if there is no answer."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return connection.makefile("rb").read()[-5:].strip()
    return b""


def _until(condition: Callable[[], object], what: str, step: Callable[[], None] = lambda: None) -> float:
    """Wait until a condition is true; return the time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        step()
        if time.monotonic() > end:
            raise AssertionError(f"no {what} within {PATIENCE:.0f} s")
        time.sleep(0.005)
    return time.monotonic()


@contextlib.contextmanager
def _serving(kind: str, watched: bool, folder: str, core: int, other: int) -> Iterator[int]:
    """Run a service on one core, and its monitor on the other; yield its port."""
    port, app = _port(), Path(folder) / "app.py"
    app.write_text(APP)
    command = [sys.executable, str(app), kind, str(port)]
    if watched:
        command = concwatch_command("watch", "--json", f"{folder}/{port}.json", "--", *command)
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _until(lambda: _answer(port), "answer")
        for process in [psutil.Process(started.pid), *psutil.Process(started.pid).children(recursive=True)]:
            serves = str(port) in process.cmdline() and "watch" not in process.cmdline()
            for thread in process.threads():
                os.sched_setaffinity(thread.id, {core if serves else other})
        yield port
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(PATIENCE)


@benchmark(
    "agent-requests",
    *(
        Quantity(kind, f"{what}: requests a second at full load, watched", "/s", "≥ 0.97 ×", "bare")
        for kind, what in (("aiohttp", "aiohttp"), ("uvicorn", "uvicorn with starlette"))
    ),
)
def measure_requests(quick: bool) -> Mapping[str, RowValues]:
    """Measure requests per second of two equal services, one of them watched, loaded in turn."""
    cores = sorted(os.sched_getaffinity(0))
    core, other = cores[0], cores[-1]
    rows = {kind: RowValues() for kind in ("aiohttp", "uvicorn")}
    # Two equal processes differ by a few per cent throughout their lives: several pairs average that out.
    for kind in [*rows] * (1 if quick else 8):
        quiet.wait()
        with (
            tempfile.TemporaryDirectory() as folder,
            _serving(kind, True, folder, core, other) as watched,
            _serving(kind, False, folder, core, other) as bare,
        ):
            ports, turns = json.dumps([watched, bare]), "4" if quick else "10"
            command = [sys.executable, "-c", CLIENT_IN_TURNS, ports, "32", "0.5", turns]
            client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            os.sched_setaffinity(client.pid, {other})
            found = json.loads(client.communicate(timeout=PATIENCE)[0])
            rows[kind].values.append(statistics.median(found[0]))
            rows[kind].reference.append(statistics.median(found[1]))
    return rows


@benchmark(
    "agent-kills",
    Quantity("failed", "monitor killed 50 times at 2,000 requests/s: requests that failed", "", "≤ 0"),
    Quantity("hooks", "the same: hooks removed within", "s", "≤ 5 s"),
)
def measure_kills(quick: bool) -> Mapping[str, RowValues]:
    """Kill the monitor of a service under load."""
    port, gone = _port(), []
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(APP)
        service = subprocess.Popen([sys.executable, str(app), "aiohttp", str(port), "agent"])
        try:
            _until(lambda: _answer(port) == b"0", "answer without hooks")
            command = [sys.executable, "-c", STEADY_CLIENT, str(port), "20", "2000"]
            client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                for _ in range(3 if quick else 50):
                    with DrawnTerminal("-m", "concwatch", "attach", str(service.pid)) as screen:
                        screen.until(lambda: _answer(port) == b"1", "hook")
                        screen.process.kill()
                        began = time.monotonic()
                        gone.append(_until(lambda: _answer(port) == b"0", "end of hooks") - began)
                report = json.loads(client.communicate("", timeout=PATIENCE)[0])
            finally:
                client.kill()
            assert service.poll() is None
        finally:
            service.kill()
            service.wait()
    return {
        "failed": RowValues(
            [float(report["failed"])], detail={"answered": report["answered"], "rate": report["rate"]}
        ),
        "hooks": RowValues([max(gone)]),
    }


CHILDREN = """
import asyncio, multiprocessing, sys
async def wait(): await asyncio.sleep(600)
def child(): asyncio.run(wait())
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    children = [multiprocessing.Process(target=child) for _ in range(3)]
    for each in children: each.start()
    for each in children: each.join()
"""

SERVERS = """
import asyncio
from aiohttp import web
from starlette.applications import Starlette
async def handle(request): return web.Response(text="done")
application = web.Application()
application.router.add_get("/", handle)
asgi = Starlette()
"""


def _lanes(command: list[str], processes: int, folder: str) -> tuple[float, int]:
    """Return the longest time, in seconds, until a process was a lane, and how many never were."""
    with watched_in_background(command) as (watching, program, output):
        met: dict[int, float] = {}

        def step() -> None:
            watching.step()
            for lane in watching.alive:
                if lane.current.how == "agent" and lane.pid not in met:
                    with contextlib.suppress(psutil.Error):
                        met[lane.pid] = time.time() - psutil.Process(lane.pid).create_time()

        _until(lambda: len(met) >= processes, f"{processes} lanes of {command}", step)
        if "gunicorn" in command:
            worker = next(lane.pid for lane in watching.alive if lane.current.ppid == program.pid)
            os.kill(worker, signal.SIGKILL)
            _until(lambda: len(met) >= processes + 1, "successor", step)
        end = time.monotonic() + 3
        while (missed := set(program.family()) - set(met)) and time.monotonic() < end:
            step()
    output.unlink()
    return max(met.values()), len(missed)


@benchmark(
    "agent-lanes",
    Quantity("latest", "processes of gunicorn, uvicorn, multiprocessing: a lane within", "s", "≤ 1 s"),
    Quantity("missed", "the same: processes without a lane", "", "≤ 0"),
)
def measure_lanes(quick: bool) -> Mapping[str, RowValues]:
    """Measure the time from the start of each process of a program to its lane."""
    latest, missed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "servers.py").write_text(SERVERS)
        (Path(folder) / "children.py").write_text(CHILDREN)
        gunicorn = ["-m", "gunicorn", "--chdir", folder, "servers:application", "-w", "4"]
        uvicorn = ["-m", "uvicorn", "--app-dir", folder, "servers:asgi", "--workers", "2", "--port"]
        programs = (
            (5, [*gunicorn, "-b", f"127.0.0.1:{_port()}", "-k", "aiohttp.GunicornWebWorker"]),
            (3, [*uvicorn, str(_port())]),
            (4, [f"{folder}/children.py", "spawn"]),
            (4, [f"{folder}/children.py", "fork"]),
        )
        for processes, arguments in programs:
            found = _lanes([sys.executable, *arguments], processes, folder)
            latest.append(found[0])
            missed += found[1]
    return {
        "latest": RowValues([max(latest)], detail={"each": [round(each, 2) for each in latest]}),
        "missed": RowValues([float(missed)]),
    }
