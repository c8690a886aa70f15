"""Programs that people run, watched: web servers with workers, test runners, task queues, other loops.

Over 300 lines: the programs that are watched stand in it.
"""

import http.client
import os
import signal
import socket
import sys
import textwrap
import time
from contextlib import contextmanager

import psutil
import pytest

from concwatch.watch.session import watched_in_background

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc"),
]

LIMIT = 60.0

REQUESTS = 60


class Watched:
    """A program under watch, stepped while a test waits for what it is to show."""

    def __init__(self, watching, program, output):
        self.watching, self.program, self._output = watching, program, output

    def until(self, condition, what):
        """Step until ``condition()`` is true, and return what it gives."""
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            if time.monotonic() > deadline:
                lanes = [(lane.name, lane.how, lane.reason, self.figures(lane)) for lane in self.lanes]
                raise AssertionError(f"no {what}: {lanes}; it said {self.said()[-2_000:]}")
            self.watching.step()
            time.sleep(0.02)
        return found

    def said(self):
        """Return what the program has written."""
        return self._output.read_text()

    @property
    def lanes(self):
        return self.watching.lanes

    def agents(self):
        """Return the lanes that run and have an agent."""
        return [lane for lane in self.watching.alive if lane.how == "agent" and lane.alive]

    @staticmethod
    def figures(lane):
        """Return tasks created and live of each coroutine."""
        return {
            group.report.name.split(".")[-1]: (group.report.created, group.report.live)
            for group in lane.groups.values()
        }

    def total(self, name):
        """Return how many tasks of a coroutine were created, in all processes together."""
        return sum(self.figures(lane).get(name, (0, 0))[0] for lane in self.lanes)

    def ends(self):
        """Wait until the program has ended, and each lane with it."""
        self.until(lambda: self.program.status is not None and not self.watching.alive, "end")


@contextmanager
def watched(command):
    with watched_in_background([str(part) for part in command]) as (watching, program, output):
        one = Watched(watching, program, output)
        yield one
    output.unlink()


@pytest.fixture
def port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Return what writes a program into a folder that Python imports from."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(source, name="app.py"):
        (tmp_path / name).write_text(textwrap.dedent(source))
        return tmp_path / name

    return write


def get(port):
    """Return what a request brings, or nothing where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()


def lives(pid):
    """Return whether a process runs; one that has ended may wait for its parent for ever."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(pids):
    """Wait until no process of ``pids`` is left."""
    pids = list(pids)
    deadline = time.monotonic() + LIMIT
    while left := [pid for pid in pids if lives(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def load(port):
    """Send requests, a connection each, and count those that are answered."""
    return sum(get(port) == b"done" for _ in range(REQUESTS))


AIOHTTP = """
    import asyncio, sys
    from aiohttp import web

    async def work():
        await asyncio.sleep(0.001)

    async def handle(request):
        await asyncio.create_task(work())
        return web.Response(text="done")

    application = web.Application()
    application.router.add_get("/", handle)
    if __name__ == "__main__":
        web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""

STARLETTE = """
    import asyncio
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def work():
        await asyncio.sleep(0.001)

    async def handle(request):
        await asyncio.create_task(work())
        return PlainTextResponse("done")

    application = Starlette(routes=[Route("/", handle)])
"""


def served(one, port, answers=1):
    """Wait until the service answers; return how many requests it has answered then."""
    return one.until(lambda: get(port) == b"done", "answer") and answers


def test_a_service_of_aiohttp(app, port):
    with watched([sys.executable, app(AIOHTTP), port]) as one:
        answered = served(one, port) + load(port)
        assert answered == REQUESTS + 1
        one.until(lambda: one.total("work") == answered, f"{answered} tasks of work")
        (lane,) = one.agents()
        one.until(lambda: one.figures(lane)["work"] == (answered, 0), "no task left")


def test_the_workers_of_uvicorn(app, port):
    app(STARLETTE)
    command = [sys.executable, "-m", "uvicorn", "app:application", "--port", port, "--workers", 2]
    with watched([*command, "--log-level", "warning"]) as one:
        answered = served(one, port) + load(port)
        one.until(lambda: one.total("work") == answered == REQUESTS + 1, "every request's task")
        running = one.until(lambda: len(one.agents()) >= 3 and one.agents(), "a lane of each process")
        assert sum("run_asgi" in one.figures(lane) for lane in running) in (1, 2)
        assert {lane.pid for lane in running} == set(one.program.family())
    gone(lane.pid for lane in one.lanes)


def test_a_worker_of_gunicorn_that_is_killed_ends_its_lane_and_its_successor_is_one(app, port):
    app(AIOHTTP)
    command = [sys.executable, "-m", "gunicorn", "app:application", "-b", f"127.0.0.1:{port}", "-w", 4]
    with watched([*command, "-k", "aiohttp.GunicornWebWorker", "--log-level", "warning"]) as one:
        served(one, port)
        first = one.until(lambda: len(one.agents()) == 5 and one.agents(), "arbiter and four workers")
        one.until(lambda: one.total("work") == 1, "the task of one request")
        worker = next(lane for lane in first if lane.ppid == one.program.pid)
        psutil.Process(worker.pid).kill()
        one.until(lambda: not worker.alive, "end of the killed one")
        second = one.until(lambda: len(one.agents()) == 5 and one.agents(), "a successor")
        assert len(set(second) - set(first)) == 1
        before = one.total("work")
        assert load(port) == REQUESTS
        one.until(lambda: one.total("work") == before + REQUESTS, "every request's task")
        os.kill(one.program.pid, signal.SIGTERM)
        one.ends()
    gone(lane.pid for lane in one.lanes)


TESTS = """
    import asyncio, anyio, pytest

    async def helper():
        await asyncio.sleep(0.05)

    async def forgotten():
        await asyncio.sleep(60)

    @pytest.mark.asyncio
    @pytest.mark.parametrize("number", range(10))
    async def test_of_pytest_asyncio(number):
        await asyncio.gather(*[helper() for _ in range(10)])

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    @pytest.mark.parametrize("number", range(10))
    async def test_of_anyio(number, anyio_backend):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(helper)
"""


def test_the_workers_of_pytest_xdist_with_tests_of_pytest_asyncio_and_anyio(app):
    command = [sys.executable, "-m", "pytest", "-q", "-n", 2, "-p", "no:cacheprovider", "--rootdir=.", "-c"]
    with watched([*command, os.devnull, app(TESTS, "test_app.py")]) as one:
        one.ends()
        assert one.program.status == 0
        assert len([lane for lane in one.lanes if "helper" in one.figures(lane)]) == 2
        assert one.total("helper") == 150
        assert {lane.how for lane in one.lanes} == {"agent"}


TRIO = """
    import sys, anyio

    async def work():
        await anyio.sleep(0.3)

    def block():
        sys.stdin.read()

    async def main():
        async with anyio.create_task_group() as group:
            for _ in range(200):
                group.start_soon(work)
            await anyio.to_thread.run_sync(block)
            await anyio.sleep(0.5)

    anyio.run(main, backend=sys.argv[1])
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_program_of_anyio_on_either_loop(app, backend):
    with watched([sys.executable, app(TRIO), backend]) as one:
        one.ends()
        assert one.program.status == 0
        assert one.total("work") == 200
        (lane,) = one.lanes
        assert one.figures(lane)["work"] == (200, 0)


ORPHANS = """
    import os, subprocess, sys, time
    children = [
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=daemon)
        for daemon in (False, True)
    ]
    print(*[child.pid for child in children], flush=True)
    if sys.argv[1] == "waits":
        time.sleep(600)
"""


@pytest.mark.parametrize("ending", ["waits", "ends"])
def test_what_a_program_leaves_behind_is_ended_with_it_but_not_a_daemon(app, ending):
    with watched([sys.executable, app(ORPHANS), ending]) as one:
        child, daemon = one.until(lambda: one.said().split(), "children")
        one.until(lambda: len([lane for lane in one.lanes if lane.how == "agent"]) >= 2, "lanes")
    try:
        assert (lives(int(child)), lives(int(daemon))) == (False, True)
    finally:
        os.kill(int(daemon), signal.SIGKILL)


CELERY = """
    import os
    from celery import Celery

    folder = os.environ["CELERY_FOLDER"]
    application = Celery("app", broker="filesystem://", backend="file://" + folder)
    application.conf.update(
        broker_transport_options={
            "data_folder_in": folder, "data_folder_out": folder, "control_folder": folder,
        },
        worker_hijack_root_logger=False,
    )

    async def job():
        pass

    @application.task
    def run():
        import asyncio
        asyncio.run(job())
        return os.getpid()
"""


def test_the_processes_of_celery(app, tmp_path, monkeypatch):
    pytest.importorskip("celery")
    folder = tmp_path / "queue"
    folder.mkdir()
    monkeypatch.setenv("CELERY_FOLDER", str(folder))
    app(CELERY)
    command = [sys.executable, "-m", "celery", "-A", "app", "worker", "-P", "prefork", "-c", 2]
    with watched([*command, "--without-gossip", "--without-mingle", "-l", "WARNING"]) as one:
        one.until(lambda: len(one.agents()) == 3, "the parent and two of its processes")
        ask = [sys.executable, "-c", "import app\nfor _ in range(20): app.run.delay()"]
        with watched(ask) as asking:
            asking.ends()
            assert asking.program.status == 0
        one.until(lambda: one.total("job") == 20, "a task of each message")
        os.kill(one.program.pid, signal.SIGTERM)
        one.ends()
