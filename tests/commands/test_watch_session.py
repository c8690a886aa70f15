"""Watching real programs: web servers, test runners and task queues."""

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

from concwatch.commands.watching import watch_session as session
from concwatch.commands.watching.watch_session import watched_in_background
from concwatch.monitor.watching import watching
from tests.processes import alive, assert_ended

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

LIMIT = 60.0

REQUESTS = 30


class WatchedCommand:
    """A watched program, stepped while a test waits for a condition."""

    def __init__(self, watching, process, output):
        self.watching, self.process, self.output = watching, process, output

    def until(self, condition, what):
        """Step until ``condition()`` is true, and return its value."""
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            if time.monotonic() > deadline:
                lanes = [
                    (lane.name, lane.current.how, lane.current.reason, figures(lane)) for lane in self.lanes
                ]
                raise AssertionError(f"no {what}: {lanes}; output: {self.output.read_text()[-2_000:]}")
            self.watching.step()
            time.sleep(0.02)
        return found

    @property
    def lanes(self):
        return self.watching.lanes

    def agents(self):
        """Return the running lanes with an agent."""
        return [lane for lane in self.watching.alive if lane.current.how == "agent"]

    def total(self, name):
        """Return how many tasks of a coroutine all processes have created."""
        return sum(figures(lane).get(name, (0, 0))[0] for lane in self.lanes)

    def wait_for_end(self):
        """Wait until the program and its processes have ended."""
        self.until(lambda: self.process.status is not None and not self.watching.alive, "end")


def figures(lane):
    """Return the created and live tasks of each coroutine."""
    groups = [group.report for group in lane.reports.groups.values()]
    return {group.name.split(".")[-1]: (group.created, group.live) for group in groups}


@contextmanager
def watched(*command):
    """Watch a program; yield a `WatchedCommand`."""
    with watched_in_background([str(part) for part in command]) as (watching, process, output):
        yield WatchedCommand(watching, process, output)
    output.unlink()


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Return a function that writes a program into the working directory, from which Python imports."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(source, name="app.py"):
        (tmp_path / name).write_text(textwrap.dedent(source))
        return tmp_path / name

    return write


def get(port):
    """Return the response to a request, or an empty program."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()


def send_requests(program, port):
    """Wait until the service answers, and send requests; return the number of responses."""
    program.until(lambda: get(port) == b"done", "response")
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


def test_the_workers_of_uvicorn_and_the_tasks_of_each_request_are_watched(app, port):
    app(STARLETTE)
    command = [sys.executable, "-m", "uvicorn", "app:application", "--port", port, "--workers", 2]
    with watched(*command, "--log-level", "warning") as program:
        answered = send_requests(program, port)
        program.until(lambda: program.total("work") == answered == REQUESTS + 1, "every request's task")
        running = program.until(
            lambda: len(program.agents()) >= 3 and program.agents(), "a lane of each process"
        )
        assert sum("run_asgi" in figures(lane) for lane in running) in (1, 2)
        assert {lane.pid for lane in running} == set(program.process.family())
    assert_ended(lane.pid for lane in program.lanes)


def test_a_killed_gunicorn_worker_ends_its_lane_and_its_successor_gets_a_new_one(app, port):
    app(AIOHTTP)
    command = [sys.executable, "-m", "gunicorn", "app:application", "-b", f"127.0.0.1:{port}", "-w", 2]
    with watched(*command, "-k", "aiohttp.GunicornWebWorker", "--log-level", "warning") as program:
        before = program.until(
            lambda: len(program.agents()) == 3 and program.agents(), "arbiter and two workers"
        )
        worker = next(lane for lane in before if lane.current.ppid == program.process.pid)
        psutil.Process(worker.pid).kill()
        program.until(lambda: not worker.alive, "end of the killed worker")
        after = program.until(lambda: len(program.agents()) == 3 and program.agents(), "a successor")
        assert len(set(after) - set(before)) == 1
        answered = send_requests(program, port)
        assert answered == REQUESTS + 1
        program.until(lambda: program.total("work") == answered, "every request's task")
        program.until(
            lambda: all(figures(lane).get("work", (0, 0))[1] == 0 for lane in after), "end of all tasks"
        )
        os.kill(program.process.pid, signal.SIGTERM)
        program.wait_for_end()
    assert_ended(lane.pid for lane in program.lanes)


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


def test_xdist_workers_with_pytest_asyncio_and_anyio_are_watched(app, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = "xdist.plugin", "pytest_asyncio.plugin", "anyio.pytest_plugin", "no:cacheprovider"
    options = [*(f"-p{name}" for name in plugins), "-n2", "--rootdir=.", "-c", os.devnull]
    with watched(sys.executable, "-m", "pytest", *options, app(TESTS, "test_app.py")) as program:
        program.wait_for_end()
        assert program.process.status == 0
        assert len([lane for lane in program.lanes if "helper" in figures(lane)]) == 2
        assert program.total("helper") == 60
        assert len([lane for lane in program.lanes if lane.current.ready]) >= 3  # with pytest itself


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


def test_processes_without_agent_are_lanes_and_only_a_daemon_survives(app, monkeypatch):
    monkeypatch.setattr(watching, "AGENT_TIMEOUT", 0.5)
    monkeypatch.setattr(session, "DRAIN", 0.0)  # the lane of the daemon does not end

    def outside():
        return sorted(lane.current.name for lane in program.lanes if lane.current.how == "outside")

    with watched(sys.executable, app(CHILDREN)) as program:
        program.until(lambda: program.total("job") == 3, "a job in each child")
        program.until(lambda: outside() == ["python -c", "sleep", "sleep"], "lanes without an agent")
        assert (
            min(lane.current.reading.rss for lane in program.lanes if lane.current.how == "outside") > 1 << 18
        )
        jobs = [figures(lane) for lane in program.lanes if "job" in figures(lane)]
        assert [found["sleep"] for found in jobs] == [(50, 0)] * 3
    try:
        (daemon,) = [lane.pid for lane in program.lanes if alive(lane.pid)]
        assert os.getpgid(daemon) == daemon
        (lane,) = [lane for lane in program.lanes if lane.pid == daemon]
        assert lane.current.reason == "keeps running as a daemon, and is no longer watched"
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_processes_that_outlive_the_program_are_terminated(app):
    text = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    with watched(sys.executable, app(text)) as program:
        orphan = int(program.until(program.output.read_text, "orphan"))
        program.until(lambda: program.process.status is not None, "end of the program")
        assert alive(orphan)
    assert not alive(orphan)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(LIMIT, "exited with status 1: ValueError: not \ufffd[31mred"), (0.0, "exited with status 1")],
    ids=["soon", "later"],
)
def test_a_program_that_fails_soon_says_why(seconds, reason, app, monkeypatch):
    monkeypatch.setattr(watching, "AT_START", seconds)
    with watched(sys.executable, app("raise ValueError('not \\x1b[31mred')")) as program:
        program.wait_for_end()
        assert program.lanes[0].current.reason == reason
        assert program.watching.events.since(0)[-1].text == reason


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


def test_celery_processes_and_the_tasks_of_each_message_are_watched(app, tmp_path, monkeypatch):
    pytest.importorskip("celery")
    folder = tmp_path / "queue"
    folder.mkdir()
    monkeypatch.setenv("CELERY_FOLDER", str(folder))
    app(CELERY)
    command = [sys.executable, "-m", "celery", "-A", "app", "worker", "-P", "prefork", "-c", 2]
    with watched(*command, "--without-gossip", "--without-mingle", "-l", "WARNING") as program:
        program.until(lambda: len(program.agents()) == 3, "the parent and two workers")
        program.until(lambda: program.total("job") == 20, "a task of each message")
        for pid in (program.process.pid, *program.process.family()):  # after SIGTERM celery takes 5 s
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        program.wait_for_end()
