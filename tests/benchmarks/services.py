"""Real services under watch: what they lose by it, what they survive, which tasks and leaks are seen."""

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

from concwatch.system.child import concwatch_command
from concwatch.watch.session import watched_apart
from concwatch.watch.watching import Watching
from tests.agent_driver import PATIENCE, Monitor, Process
from tests.benchmarks.figures import Measured, Row, benchmark, quiet
from tests.benchmarks.terminal import Terminal
from tests.test_other_pythons import PYTHONS

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

CLIENT = """
import asyncio, json, sys, time
import uvloop

port, connections, seconds, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
REQUEST = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
answered = failed = 0

class Asks(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.got, self.due = transport, b"", time.monotonic()
        self.ask()
    def ask(self):
        self.transport.write(REQUEST)
    def data_received(self, data):
        global answered, failed
        self.got += data
        head, found, body = self.got.partition(b"\\r\\n\\r\\n")
        if not found or len(body) < 5:
            return
        self.got = b""
        answered += 1
        failed += not head.startswith(b"HTTP/1.1 200")
        if rate:
            self.due = max(self.due + connections / rate, time.monotonic() - 1)
            asyncio.get_running_loop().call_later(max(0, self.due - time.monotonic()), self.ask)
        else:
            self.ask()
    def connection_lost(self, error):
        global failed
        failed += not ended

ended = False
async def main():
    global ended, rate
    loop = asyncio.get_running_loop()
    for _ in range(connections):
        await loop.create_connection(Asks, "127.0.0.1", port)
    await asyncio.sleep(0.5)
    first, began = answered, time.monotonic()
    if seconds:
        await asyncio.sleep(seconds)
    else:
        await loop.run_in_executor(None, sys.stdin.read)
    ended = True
    rate = (answered - first) / (time.monotonic() - began)
    print(json.dumps({"answered": answered, "failed": failed, "rate": rate}))
uvloop.run(main())
"""


def _port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answer(port: int) -> bytes:
    """Return the body of one answer, nothing where nobody answers."""
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
def _client(
    port: int, connections: int, seconds: float, rate: float = 0.0
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CLIENT, *map(str, (port, connections, seconds, rate))]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield client
    finally:
        client.kill()
        client.communicate()


TAKES_TURNS = """
import asyncio, json, sys, time
import uvloop

ports, connections = json.loads(sys.argv[1]), int(sys.argv[2])
seconds, turns = float(sys.argv[3]), int(sys.argv[4])
REQUEST = b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"

class Asks(asyncio.Protocol):
    answered, asking = 0, False
    def connection_made(self, transport):
        self.transport, self.got, self.waits = transport, b"", False
    def ask(self):
        self.waits = True
        self.transport.write(REQUEST)
    def data_received(self, data):
        self.got += data
        head, found, body = self.got.partition(b"\\r\\n\\r\\n")
        if not found or len(body) < 5:
            return
        assert head.startswith(b"HTTP/1.1 200"), head
        self.got, self.waits = b"", False
        self.answered += 1
        if self.asking:
            self.ask()

async def main():
    loop, services = asyncio.get_running_loop(), []
    for port in ports:
        made = [await loop.create_connection(Asks, "127.0.0.1", port) for _ in range(connections)]
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


@contextlib.contextmanager
def _serving(kind: str, watched: bool, folder: str, core: int, other: int) -> Iterator[int]:
    """Run a service on a core of its own, its monitor on the other; give its port."""
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
        Row(kind, f"{what}: requests a second at full load, watched", "/s", "≥ 0.97 ×", "bare")
        for kind, what in (("aiohttp", "aiohttp"), ("uvicorn", "uvicorn with starlette"))
    ),
)
def measure_requests(quick: bool) -> Mapping[str, Measured]:
    """Measure requests a second of two like services, one of them watched, which get load in turn."""
    cores = sorted(os.sched_getaffinity(0))
    core, other = cores[0], cores[-1]
    rows = {kind: Measured() for kind in ("aiohttp", "uvicorn")}
    # Two like processes differ by a few per cent for as long as they live: several pairs even that out.
    for kind in [*rows] * (1 if quick else 8):
        quiet.wait()
        with (
            tempfile.TemporaryDirectory() as folder,
            _serving(kind, True, folder, core, other) as watched,
            _serving(kind, False, folder, core, other) as bare,
        ):
            ports, turns = json.dumps([watched, bare]), "4" if quick else "10"
            command = [sys.executable, "-c", TAKES_TURNS, ports, "32", "0.5", turns]
            client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            os.sched_setaffinity(client.pid, {other})
            found = json.loads(client.communicate(timeout=PATIENCE)[0])
            rows[kind].values.append(statistics.median(found[0]))
            rows[kind].reference.append(statistics.median(found[1]))
    return rows


@benchmark(
    "agent-kills",
    Row("failed", "monitor killed 50 times at 2,000 requests/s: requests that failed", "", "≤ 0"),
    Row("hooks", "the same: hooks gone after, at most", "s", "≤ 5 s"),
)
def measure_kills(quick: bool) -> Mapping[str, Measured]:
    """Kill the screen that is attached to a service under load."""
    port, gone = _port(), []
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(APP)
        service = subprocess.Popen([sys.executable, str(app), "aiohttp", str(port), "agent"])
        try:
            _until(lambda: _answer(port) == b"0", "answer without hooks")
            with _client(port, 20, 0.0, 2_000.0) as client:
                for _ in range(3 if quick else 50):
                    with Terminal("-m", "concwatch", "attach", str(service.pid)) as screen:
                        screen.until(lambda: _answer(port) == b"1", "hook")
                        screen.process.kill()
                        began = time.monotonic()
                        gone.append(_until(lambda: _answer(port) == b"0", "end of hooks") - began)
                told = json.loads(client.communicate("", timeout=PATIENCE)[0])
            assert service.poll() is None
        finally:
            service.kill()
            service.wait()
    return {
        "failed": Measured(
            [float(told["failed"])], detail={"answered": told["answered"], "rate": told["rate"]}
        ),
        "hooks": Measured([max(gone)]),
    }


COUNTS = """
import asyncio, json, sys, threading
made = {}
for number in range(20):
    exec(f"async def job{number}(event=None):\\n    await (event.wait() if event else asyncio.sleep(0))")
def job(number, event=None):
    name = f"job{number}"
    row = made.setdefault(name, [0, 0])
    row[0] += 1
    row[1] += event is not None
    return globals()[name](event)
each = int(sys.argv[1]) // 20
async def nested():
    return [await asyncio.create_task(job(3)) for _ in range(each)]
async def main():
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    for _ in range(each // 100):
        await asyncio.gather(*[job(0) for _ in range(100)])
    for _ in range(each // 100):
        async with asyncio.TaskGroup() as group:
            for _ in range(100):
                group.create_task(job(1))
    for _ in range(each):
        await asyncio.wait_for(asyncio.ensure_future(job(2)), 10)
    thread = threading.Thread(target=lambda: asyncio.run(nested()))
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.01)
    def ask():
        for _ in range(each):
            asyncio.run_coroutine_threadsafe(job(4), loop).result()
    await loop.run_in_executor(None, ask)
    if hasattr(asyncio, "eager_task_factory"):
        loop.set_task_factory(asyncio.eager_task_factory)
    for _ in range(each):
        await loop.create_task(job(5))
    loop.set_task_factory(None)
    held = []
    for number in range(6, 20):
        for index in range(each):
            held.append(loop.create_task(job(number, event if index % 7 == 0 else None)))
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    print(json.dumps(made), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""


@benchmark(
    "agent-counts",
    *(
        Row(name, f"200,000 tasks over 20 names on {name}: created or live ones told wrongly", "", "≤ 0")
        for name in ("3.11", "3.12", "3.13")
    ),
)
def measure_counts(quick: bool) -> Mapping[str, Measured]:
    """Compare what is counted with the program's own record, of tasks made in seven ways."""
    rows = {}
    for name in ("3.11", "3.12", "3.13"):
        python = sys.executable if name == "3.11" else PYTHONS.get(f"CPython {name}")
        if python is None:
            continue
        with Monitor() as monitor:
            program = monitor.start(COUNTS, str(20_000 if quick else 200_000), python=python)
            made = json.loads(program.stdout.readline())
            process = monitor.process()

            def wrong(process: Process = process, made: Mapping[str, list[int]] = made) -> int:
                told = {job: process.named(job) or {"created": 0, "live": 0} for job in made}
                pairs = (
                    (told[job]["created"] - row[0], told[job]["live"] - row[1]) for job, row in made.items()
                )
                return sum(abs(created) + abs(live) for created, live in pairs)

            with contextlib.suppress(AssertionError):
                _until(lambda wrong=wrong: not wrong(), "agreement")
            total = sum(created for created, _ in made.values())
            rows[name] = Measured([float(wrong())], detail={"tasks": total})
    return rows


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
    """Return the seconds until each process of a program was a lane, at most, and how many never were."""
    with watched_apart(command) as (watching, program, output):
        met: dict[int, float] = {}

        def step() -> None:
            watching.step()
            for lane in watching.alive:
                if lane.how == "agent" and lane.pid not in met:
                    with contextlib.suppress(psutil.Error):
                        met[lane.pid] = time.time() - psutil.Process(lane.pid).create_time()

        _until(lambda: len(met) >= processes, f"{processes} lanes of {command}", step)
        if "gunicorn" in command:
            worker = next(lane.pid for lane in watching.alive if lane.ppid == program.pid)
            os.kill(worker, signal.SIGKILL)
            _until(lambda: len(met) >= processes + 1, "successor", step)
        end = time.monotonic() + 3
        while (missed := set(program.family()) - set(met)) and time.monotonic() < end:
            step()
    output.unlink()
    return max(met.values()), len(missed)


@benchmark(
    "agent-lanes",
    Row("latest", "processes of gunicorn, uvicorn, multiprocessing: a lane after, at most", "s", "≤ 1 s"),
    Row("missed", "the same: processes without a lane", "", "≤ 0"),
)
def measure_lanes(quick: bool) -> Mapping[str, Measured]:
    """Measure from the start of each process of a program to its lane."""
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
        "latest": Measured([max(latest)], detail={"each": [round(each, 2) for each in latest]}),
        "missed": Measured([float(missed)]),
    }


LEAKS = """
import asyncio, math, random, sys
kind, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
async def request(mean): await asyncio.sleep(chance.expovariate(1 / mean))
async def leaky(): await asyncio.Event().wait()
async def returns(): return bytes(100)
async def serve(rate, mean, leaks=0.0, burst=0, retain=0.0):
    loop = asyncio.get_running_loop()
    began, last, owed, leak, kept, due = loop.time(), loop.time(), 0.0, 0.0, 0.0, 0
    while True:
        await asyncio.sleep(0.02)
        now = loop.time()
        owed += rate(now - began) * (now - last) * chance.uniform(0.5, 1.5)
        leak += leaks * (now - last)
        kept += retain * (now - last)
        last = now
        while owed >= 1:
            owed -= 1
            hold(asyncio.ensure_future(request(mean)))
        while leak >= 1:
            leak -= 1
            ALL.append(asyncio.ensure_future(leaky()))
        while kept >= 1:
            kept -= 1
            ALL.append(asyncio.ensure_future(returns()))
        if burst and now - began > due:
            due += 7
            for _ in range(burst):
                hold(asyncio.ensure_future(request(mean)))
ALL, PENDING = [], set()
def hold(task):
    PENDING.add(task)
    task.add_done_callback(PENDING.discard)
asyncio.run(serve(**eval(kind)))
"""

SOUND = {
    "steady, fast": "dict(rate=lambda t: 500, mean=0.1)",
    "steady, slow": "dict(rate=lambda t: 20, mean=2)",
    "few, long": "dict(rate=lambda t: 2, mean=10)",
    "bursty": "dict(rate=lambda t: 100, mean=0.3, burst=400)",
    "only bursts": "dict(rate=lambda t: 0, mean=1, burst=300)",
    "daily swing": "dict(rate=lambda t: 200 * (1 + math.sin(t / 10)), mean=0.2)",
    "rising half of a swing": "dict(rate=lambda t: 100 * (1 - math.cos(t / 22)), mean=0.5)",
    "growing load": "dict(rate=lambda t: 20 + 5 * t, mean=0.5)",
    "load in steps": "dict(rate=lambda t: 100 * (1 + int(t // 15)), mean=0.3)",
    "falling load": "dict(rate=lambda t: max(5, 300 - 5 * t), mean=0.3)",
}
LEAKING = {
    "1 a second under 500": "dict(rate=lambda t: 500, mean=0.1, leaks=1)",
    "2 a second under 100": "dict(rate=lambda t: 100, mean=0.3, leaks=2)",
    "1 a second under bursts": "dict(rate=lambda t: 50, mean=0.3, burst=300, leaks=1)",
    "1 a second in a swing": "dict(rate=lambda t: 100 * (1 + math.sin(t / 10)), mean=0.2, leaks=1)",
    "3 a second as load grows": "dict(rate=lambda t: 20 + 3 * t, mean=0.5, leaks=3)",
    "5 a second alone": "dict(rate=lambda t: 0, mean=1, leaks=5)",
    "every tenth": "dict(rate=lambda t: 45, mean=0.2, leaks=5)",
    "20 a second": "dict(rate=lambda t: 200, mean=0.2, leaks=20)",
    "retained, 2 a second": "dict(rate=lambda t: 100, mean=0.2, retain=2)",
    "retained, 1 a second under 300": "dict(rate=lambda t: 300, mean=0.1, retain=1)",
}
STARTER = """
import json, subprocess, sys
children = [subprocess.Popen([sys.executable, sys.argv[1], *each]) for each in json.loads(sys.argv[2])]
for child in children: child.wait()
"""


def _called_out(watching: Watching) -> dict[int, set[str]]:
    """Return the coroutines that were called a leak, by process."""
    found: dict[int, set[str]] = {}
    for lane in watching.lanes:
        named = {group.report.name for group in lane.groups.values() if group.leak or group.leaks}
        told = [event.text for event in watching.events.since(0) if event.lane == lane.lane]
        named |= {
            name for name in ("leaky", "returns", "request", "serve") if any(name in text for text in told)
        }
        found[lane.pid] = named
    return found


@benchmark(
    "agent-leaks",
    Row("named", "20 services for 60 s: leaks that were not named by their coroutine", "of 10", "≤ 0"),
    Row("false", "the same: coroutines that were called a leak and are none", "", "≤ 0"),
)
def measure_leaks(quick: bool) -> Mapping[str, Measured]:
    """Watch twenty real services at once, half of them with a leak."""
    services = {**SOUND, **LEAKING}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("leaks.py", LEAKS), ("starter.py", STARTER)):
            (Path(folder) / name).write_text(text)
        arguments = [[kind, str(number)] for number, kind in enumerate(services.values())]
        command = [sys.executable, f"{folder}/starter.py", f"{folder}/leaks.py", json.dumps(arguments)]
        with watched_apart(command) as (watching, _, output):
            end = time.monotonic() + (20 if quick else 65)
            while time.monotonic() < end:
                watching.step()
                time.sleep(0.02)
            called = _called_out(watching)
            numbers = {lane.pid: psutil.Process(lane.pid).cmdline()[-1] for lane in watching.alive}
        output.unlink()
    names = list(services)
    by_name = {names[int(word)]: called[pid] for pid, word in numbers.items() if word.isdigit()}
    missed = [name for name in LEAKING if not by_name.get(name, set()) & {"leaky", "returns"}]
    wrong = {name: found for name, words in by_name.items() if (found := words & {"request", "serve"})}
    wrong |= {name: found for name in SOUND if (found := by_name.get(name, set()) - {"request", "serve"})}
    return {
        "named": Measured([float(len(missed))], detail={"missed": missed}),
        "false": Measured(
            [float(len(wrong))], detail={"false": {name: sorted(each) for name, each in wrong.items()}}
        ),
    }
