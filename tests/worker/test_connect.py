"""The workload ``connect`` on each engine, with a server of the test that counts connections and lines."""

import contextlib
import os
import selectors
import socket
import sys
import threading
from collections import Counter

import psutil
import pytest

from concwatch.monitor.workers.catalog import PYTHONS
from concwatch.portable.worker.engines.bodies import TaskCancelled
from concwatch.portable.worker.engines.interpreter_task import PipeToken, run
from tests.worker_driver import Worker, row_of, start_command

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no server on Windows"),
]

ADDRESSES = 3 if sys.platform.startswith("linux") else 1
OTHERS = (
    *("go", "rust-threads", "tokio", "async-std", "java-virtual", "java-threads", "csharp", "node"),
    *("erlang", "elixir"),
)
"""The engines in other languages that open or close connections in different ways."""

UNCHECKED = ("go", "rust-threads", "tokio", "async-std", "node")
"""Those that do not check the address."""


class Lines:
    """A server of the test: echoes what it receives, and counts."""

    def __init__(self):
        self.open = set()
        """The connections that are open."""
        self.addresses = Counter()
        """Address → connections to it so far."""
        self.lines = 0
        self.answers = True
        self._listening = [socket.create_server(("127.0.0.1", 0), backlog=1_000)]
        self.port = self._listening[0].getsockname()[1]
        for last in range(2, ADDRESSES + 1):
            self._listening.append(socket.create_server((f"127.0.0.{last}", self.port), backlog=1_000))
        self._selector = selectors.DefaultSelector()
        self._end, end = socket.socketpair()
        for each in (*self._listening, end):
            self._selector.register(each, selectors.EVENT_READ)
        self._inner_end = end
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def fields(self):
        """The fields of a command that let tasks connect to it."""
        return {"url": f"tcp://127.0.0.1:{self.port}", "addresses": ADDRESSES}

    def _serve(self):
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._inner_end:
                    return
                if key.fileobj in self._listening:
                    connection, _ = key.fileobj.accept()
                    self.addresses[connection.getsockname()[0]] += 1
                    self._selector.register(connection, selectors.EVENT_READ)
                    self.open.add(connection)
                else:
                    self._echo(key.fileobj)

    def _echo(self, connection):
        received = b""
        with contextlib.suppress(OSError):
            received = connection.recv(1_000)
            if self.answers and received:
                connection.sendall(received)
        self.lines += received.count(b"ping\n")
        if not received:
            self._selector.unregister(connection)
            self.open.discard(connection)
            connection.close()

    def hang_up(self):
        """Close all connections."""
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        """End the server."""
        self._end.close()
        self._thread.join()
        for each in (*self.open, *self._listening, self._inner_end, self._selector):
            each.close()


@pytest.fixture
def lines():
    """The server."""
    with contextlib.closing(Lines()) as server:
        yield server


def skip_without_connect(worker):
    """Skip the test of an engine that has no workload ``connect``."""
    if "connect" not in worker.ready["workloads"]:
        pytest.skip("has no workload connect")


@pytest.fixture(scope="module", params=[*(engine.name for engine in PYTHONS), *OTHERS])
def shared(request):
    """A worker of each engine that has the workload."""
    row = row_of(request.param)
    if missing := row.missing():
        pytest.skip(missing)
    with Worker(row) as worker:
        skip_without_connect(worker)
        yield worker


@pytest.fixture
def worker(shared):
    """The shared worker after a reset, with enough threads."""
    shared.reset()
    shared.do("rate", hz=50)
    if "threads" in shared.ready["can"]:
        shared.do("threads", count=40)
    yield shared
    shared.reset()


def at_most(worker, tasks):
    """Return how many of ``tasks`` tasks run at once."""
    return min(tasks, 1) if worker.ready["engine"] == "sequential" else tasks


def test_each_task_holds_a_connection_and_closes_it_when_it_ends(worker, lines):
    worker.do("workload", spec="connect", **lines.fields)
    for tasks in (30, 5, 12, 0):
        worker.target(tasks)
        worker.until(lambda tasks=tasks: len(lines.open) == at_most(worker, tasks), "connections")
        assert worker.tick()["live"] == tasks
        # A task that is cancelled before it has sent its line never does.
        worker.until(lambda: not lines.open or lines.lines == sum(lines.addresses.values()), "lines")
    assert len(lines.addresses) == min(ADDRESSES, lines.lines)
    assert max(lines.addresses.values()) - min(lines.addresses.values()) <= 1
    last = worker.tick()
    assert (last["failed"], last["completed"]) == (0, 0), worker.all("error")


def test_with_an_interval_lines_are_sent_again(worker, lines):
    worker.do("workload", spec="connect:0.02s", **lines.fields)
    worker.target(4)
    all_ = at_most(worker, 4)
    worker.until(lambda: len(lines.open) == all_ and lines.lines >= 10 * all_, "lines")
    assert sum(lines.addresses.values()) == all_
    worker.do("workload", spec="hold")
    worker.until(lambda: not lines.open, "the end of all connections")
    assert worker.tick(lambda tick: tick["live"] == 4)["failed"] == 0, worker.all("error")


@pytest.mark.parametrize("spec", ["connect", "connect:0.05"])
def test_a_connection_that_the_server_closes_fails_its_task(worker, lines, spec):
    worker.do("refill", on=False)
    worker.do("workload", spec=spec, **lines.fields)
    all_ = at_most(worker, 8)
    worker.send("target", tasks=all_)
    worker.until(lambda: len(lines.open) == all_ and (lines.lines == all_ or lines.lines > 40), "lines")
    lines.hang_up()
    tick = worker.tick(lambda tick: not tick["live"])
    assert (tick["failed"], tick["cancelled"]) == (at_most(worker, 8), 0)
    assert worker.wait("error")["message"].startswith("a task failed: ")


def test_a_refused_connection_fails_its_task(worker, lines):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # and does not listen
        url = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        worker.do("refill", on=False)
        worker.do("workload", spec="connect", url=url, addresses=1)
        worker.send("target", tasks=3)
        tick = worker.tick(lambda tick: tick["failed"] == 3)
    assert tick["live"] == 0
    assert "refused" in worker.wait("error")["message"].lower()


def test_a_task_whose_server_does_not_answer_can_be_cancelled(worker, lines):
    lines.answers = False
    worker.do("workload", spec="connect", **lines.fields)
    worker.send("target", tasks=10)
    worker.until(lambda: lines.lines == at_most(worker, 10), "lines")
    worker.target(0)
    worker.until(lambda: not lines.open, "the end of all connections")
    assert worker.tick(lambda tick: not tick["live"])["failed"] == 0


@pytest.mark.parametrize(
    "fields",
    [{}, {"url": "http://127.0.0.1:9"}, {"url": "tcp://127.0.0.1:0"}, {"url": "tcp://10.0.0.1:9"},
     {"url": "tcp://127.0.0.1:70000"}, {"url": "tcp://127.0.0.1:9", "addresses": 255},
     {"url": "tcp://127.0.0.1:9", "addresses": "2"}],
)  # fmt: skip
def test_an_invalid_address_is_refused(worker, fields):
    if worker.ready["engine"] in UNCHECKED:
        pytest.skip("its monitor sends valid addresses")
    message = worker.refuse("workload", spec="connect", **fields)
    expected = '"addresses"' if "addresses" in fields else 'workload "connect" needs a "url" to connect to'
    assert message.startswith(expected)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is set by /bin/sh of Linux")
@pytest.mark.parametrize("name", ["threads", "asyncio", "uvloop", "gevent", *OTHERS])
def test_the_limit_on_open_files_is_raised_then_reported_with_its_value(name, lines):
    row = row_of(name)
    if missing := row.missing():
        pytest.skip(missing)
    code = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (50, 100)); "
    code += "os.execvp(sys.argv[1], sys.argv[1:])"
    with Worker(row, command=[sys.executable, "-c", code, *start_command(row)]) as worker:
        skip_without_connect(worker)
        worker.do("rate", hz=50)
        worker.do("workload", spec="connect", **lines.fields)
        since = worker.send("target", tasks=200)
        limit = worker.wait("limit", since=since)
        assert (limit["wall"], limit["value"], limit["wanted"]) == ("ulimit -n", 100, 200)
        assert 50 < limit["standing"] < 100
        worker.until(lambda: len(lines.open) == worker.tick()["live"] == limit["standing"], "connections")
        assert psutil.Process(worker.ready["pid"]).num_fds() <= 100
        worker.target(0)
        worker.until(lambda: not lines.open, "the end of all connections")


@pytest.fixture
def pipe():
    """The ends of a pipe, by which tasks in interpreters are cancelled."""
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    yield ends
    for end in ends:
        os.close(end)


def test_a_task_in_an_interpreter_is_cancelled_while_it_waits_for_its_connection(lines, pipe):
    # In threads of this process: the engine itself needs Python 3.14.
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(run(pipe[0], "connect:0.02", lines.fields["url"], ADDRESSES, ())[0])
        )
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    try:
        while lines.lines < 50 or len(lines.open) < len(threads):
            assert not results
        os.write(pipe[1], b"..")
        while len(results) < 2:
            assert len(lines.open) >= 3
    finally:
        os.write(pipe[1], b"...")
        for thread in threads:
            thread.join()
    assert results == ["cancelled"] * 5


def test_a_polled_socket_times_out_and_is_cancelled(lines, pipe):
    with PipeToken(pipe[0]).socket_opener()() as connection:
        connection.connect(("127.0.0.1", lines.port))
        connection.settimeout(0.01)
        with pytest.raises(socket.timeout):
            connection.recv(1)
        os.write(pipe[1], b".")
        with pytest.raises(TaskCancelled):
            connection.recv(1)
