"""Watched programs of the kinds that people run: web servers, test runners, task queues."""

import http.client
import os
import signal
import socket
import sys
import textwrap
import time
from contextlib import contextmanager, suppress

import psutil
import pytest

from concwatch.watch import session, watching
from concwatch.watch.session import watched_in_background
from tests.processes import alive, assert_ended

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

LIMIT = 60.0

REQUESTS = 30


class Watched:
    """A watched program, stepped while a test waits for a condition."""

    def __init__(self, watching, program, output):
        self.watching, self.program, self.output = watching, program, output

    def until(self, condition, what):
        """Step until ``condition()`` is true, and return its value."""
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            if time.monotonic() > deadline:
                lanes = [(lane.name, lane.how, lane.reason, figures(lane)) for lane in self.lanes]
                raise AssertionError(f"no {what}: {lanes}; output: {self.output.read_text()[-2_000:]}")
            self.watching.step()
            time.sleep(0.02)
        return found

    @property
    def lanes(self):
        return self.watching.lanes

    def agents(self):
        """Return the lanes that are running and have an agent."""
        return [lane for lane in self.watching.alive if lane.how == "agent"]

    def total(self, name):
        """Return how many tasks of a coroutine were created, in all processes together."""
        return sum(figures(lane).get(name, (0, 0))[0] for lane in self.lanes)

    def ends(self):
        """Wait until the program and all its processes have ended."""
        self.until(lambda: self.program.status is not None and not self.watching.alive, "end")


def figures(lane):
    """Return the created and live tasks of each coroutine."""
    groups = [group.report for group in lane.groups.values()]
    return {group.name.split(".")[-1]: (group.created, group.live) for group in groups}


@contextmanager
def watched(*command):
    with watched_in_background([str(part) for part in command]) as (watching, program, output):
        yield Watched(watching, program, output)
    output.unlink()


@pytest.fixture
def port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Return a function that writes a program into a folder that Python imports from."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(source, name="app.py"):
        (tmp_path / name).write_text(textwrap.dedent(source))
        return tmp_path / name

    return write


def get(port):
    """Return the response to a request; empty if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()


def gone(lanes):
    """Wait until the process of each lane has ended."""
    assert_ended([lane.pid for lane in lanes])


def served(one, port):
    """Wait until the service answers, and send requests; return how many were answered."""
    one.until(lambda: get(port) == b"done", "answer")
    return 1 + sum(get(port) == b"done" for _ in range(REQUESTS))


AIOHTTP = """
    import asyncio
    from aiohttp import web

    async def work():
        await asyncio.sleep(0.001)

    async def handle(request):
        await asyncio.create_task(work())
        return web.Response(text="done")

    application = web.Application()
    application.router.add_get("/", handle)
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


def test_the_workers_of_uvicorn(app, port):
    app(STARLETTE)
    command = [sys.executable, "-m", "uvicorn", "app:application", "--port", port, "--workers", 2]
    with watched(*command, "--log-level", "warning") as one:
        answered = served(one, port)
        one.until(lambda: one.total("work") == answered == REQUESTS + 1, "every request's task")
        running = one.until(lambda: len(one.agents()) >= 3 and one.agents(), "a lane of each process")
        assert sum("run_asgi" in figures(lane) for lane in running) in (1, 2)
        assert {lane.pid for lane in running} == set(one.program.family())
    gone(one.lanes)


def test_a_worker_of_gunicorn_that_is_killed_ends_its_lane_and_its_successor_is_one(app, port):
    app(AIOHTTP)
    command = [sys.executable, "-m", "gunicorn", "app:application", "-b", f"127.0.0.1:{port}", "-w", 2]
    with watched(*command, "-k", "aiohttp.GunicornWebWorker", "--log-level", "warning") as one:
        first = one.until(lambda: len(one.agents()) == 3 and one.agents(), "arbiter and two workers")
        worker = next(lane for lane in first if lane.ppid == one.program.pid)
        psutil.Process(worker.pid).kill()
        one.until(lambda: not worker.alive, "end of the killed one")
        second = one.until(lambda: len(one.agents()) == 3 and one.agents(), "a successor")
        assert len(set(second) - set(first)) == 1
        answered = served(one, port)
        assert answered == REQUESTS + 1
        one.until(lambda: one.total("work") == answered, "every request's task")
        one.until(lambda: all(figures(lane).get("work", (0, 0))[1] == 0 for lane in second), "no task left")
        os.kill(one.program.pid, signal.SIGTERM)
        one.ends()
    gone(one.lanes)


TESTS = """
    import asyncio, anyio, pytest

    async def helper():
        await asyncio.sleep(0.01)

    @pytest.mark.asyncio
    @pytest.mark.parametrize("number", range(4))
    async def test_of_pytest_asyncio(number):
        await asyncio.gather(*[helper() for _ in range(10)])

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    @pytest.mark.parametrize("number", range(4))
    async def test_of_anyio(number, anyio_backend):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(helper)
"""


def test_the_workers_of_pytest_xdist_with_tests_of_pytest_asyncio_and_anyio(app, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = "xdist.plugin", "pytest_asyncio.plugin", "anyio.pytest_plugin", "no:cacheprovider"
    options = [*(f"-p{name}" for name in plugins), "-n2", "--rootdir=.", "-c", os.devnull]
    with watched(sys.executable, "-m", "pytest", *options, app(TESTS, "test_app.py")) as one:
        one.ends()
        assert one.program.status == 0
        assert len([lane for lane in one.lanes if "helper" in figures(lane)]) == 2
        assert one.total("helper") == 60
        assert all(lane.ready for lane in one.lanes)


CHILDREN = """
    import asyncio, multiprocessing, subprocess, sys
    async def job():
        await asyncio.gather(*[asyncio.sleep(0.2) for _ in range(50)])
    def child():
        asyncio.run(job())
    if __name__ == "__main__":
        multiprocessing.set_start_method("spawn")
        for command in ([sys.executable, "-I", "-c", "import time; time.sleep(600)"], ["sleep", "600"]):
            subprocess.Popen(command)
        children = [multiprocessing.Process(target=child) for _ in range(3)]
        for each in children: each.start()
        for each in children: each.join()
        subprocess.Popen(command, start_new_session=True).wait()
"""


def test_every_process_is_a_lane_without_an_agent_from_outside_and_only_a_daemon_survives(app, monkeypatch):
    monkeypatch.setattr(watching, "AGENT_TIMEOUT", 0.5)
    monkeypatch.setattr(session, "DRAIN", 0.0)  # the daemon's lane does not end

    def outside():
        return sorted(lane.process_name for lane in one.lanes if lane.how == "outside")

    with watched(sys.executable, app(CHILDREN)) as one:
        one.until(lambda: one.total("job") == 3, "a job in each child")
        one.until(lambda: outside() == ["python -c", "sleep", "sleep"], "lanes without an agent")
        assert min(lane.reading.rss for lane in one.lanes if lane.how == "outside") > 1 << 18
        jobs = [figures(lane) for lane in one.lanes if "job" in figures(lane)]
        assert [found["sleep"] for found in jobs] == [(50, 0)] * 3
    try:
        (daemon,) = [lane.pid for lane in one.lanes if alive(lane.pid)]
        assert os.getpgid(daemon) == daemon
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_what_a_program_has_left_behind_is_terminated_after_it(app):
    text = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    with watched(sys.executable, app(text)) as one:
        orphan = int(one.until(one.output.read_text, "orphan"))
        one.until(lambda: one.program.status is not None, "end of the program")
        assert alive(orphan)
    assert not alive(orphan)


CELERY = """
    import os
    from celery import Celery
    from celery.signals import worker_ready

    folder = os.environ["CELERY_FOLDER"]
    application = Celery("app", broker="filesystem://", backend="file://" + folder)
    application.conf.update(
        broker_transport_options={
            "data_folder_in": folder, "data_folder_out": folder, "control_folder": folder,
            "polling_interval": 0.01,
        },
        worker_hijack_root_logger=False,
    )

    async def job():
        pass

    @application.task
    def run():
        import asyncio
        asyncio.run(job())

    @worker_ready.connect
    def send(**_):
        for _ in range(20): run.delay()
"""


def test_the_processes_of_celery(app, tmp_path, monkeypatch):
    pytest.importorskip("celery")
    folder = tmp_path / "queue"
    folder.mkdir()
    monkeypatch.setenv("CELERY_FOLDER", str(folder))
    app(CELERY)
    command = [sys.executable, "-m", "celery", "-A", "app", "worker", "-P", "prefork", "-c", 2]
    with watched(*command, "--without-gossip", "--without-mingle", "-l", "WARNING") as one:
        one.until(lambda: len(one.agents()) == 3, "the parent and two of its processes")
        one.until(lambda: one.total("job") == 20, "a task of each message")
        for pid in (one.program.pid, *one.program.family()):  # after SIGTERM celery takes 5 s
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        one.ends()
