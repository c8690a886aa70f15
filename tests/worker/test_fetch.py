"""The workload ``http`` on each engine with its own HTTP client, with real sockets and processes."""

import contextlib
import http.server
import sys
import threading

import pytest

from concwatch.monitor.lanes.servers import HOST, Server
from concwatch.portable.protocol.workloads import parse
from tests.lab_driver import ENGINES
from tests.worker_driver import EARLY, Worker, row_of

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no page server on Windows"),
]

OTHERS = ("java-virtual", "java-threads", "go", "node")
"""The engines in other languages that have the workload."""


@pytest.fixture(scope="module")
def server():
    """A page server for all tests."""
    with contextlib.closing(Server("http")) as found:
        yield found
        assert found.ended() is None


def page_url(server, seconds):
    """Return the URL of the page that is sent after so long."""
    return server.url(parse(f"http:{seconds}"))


@pytest.fixture(scope="module", params=["threads", "asyncio", "gevent", "interpreters", *OTHERS])
def worker(request):
    """A worker of each engine with its own HTTP client, with a proxy in the environment to ignore."""
    row = row_of(request.param)
    if missing := row.missing():
        pytest.skip(missing)
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            patch.setenv(variable, "http://127.0.0.1:9")
        worker = stack.enter_context(Worker(row))
        worker.do("rate", hz=50)
        worker.do("refill", on=False)
        if "threads" in worker.ready["can"]:
            worker.do("threads", count=20)
        yield worker


class ShortBody(http.server.BaseHTTPRequestHandler):
    """Sends less than its Content-Length."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")

    def log_message(self, *_):
        pass


@pytest.fixture
def truncated_url():
    """The URL of a page that is cut short."""
    with http.server.ThreadingHTTPServer((HOST, 0), ShortBody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/"
        server.shutdown()


def test_each_engine_fetches_pages_concurrently_and_counts_failures(worker, server, truncated_url):
    worker.do("workload", spec="http:2", url=page_url(server, 2))
    reads = worker.ready["engine"] not in OTHERS
    worker.send("burst", tasks=20, chunks=1, older=0, read_after=0.2 if reads else None)
    done = worker.wait("burst")
    assert (done["tasks"], done["live"]) == (20, 20 if reads else None)
    assert 2 - EARLY <= done["seconds"] < 2 * 20 / 2
    completed = worker.tick()["completed"]
    assert completed == 20, worker.all("error")
    for url, message in (
        (page_url(server, 0).replace("page", "nothing"), "answered 404"),
        (truncated_url, "a task failed"),
    ):
        before = worker.tick()
        worker.do("workload", spec="http:0", url=url)
        since = worker.send("target", tasks=3)
        assert message in worker.wait("error", since=since)["message"]
        tick = worker.tick(lambda tick, failed=before["failed"]: tick["failed"] == failed + 3)
        assert (tick["live"], tick["completed"]) == (0, completed)
    worker.do("workload", spec="http:0.01", url=page_url(server, 0.01))
    worker.do("refill", on=True)
    worker.target(5)
    worker.tick(lambda tick: tick["completed"] >= completed + 15)
    worker.target(2)
    worker.target(0)
    assert worker.tick(lambda tick: not tick["live"])["failed"] == 6
    worker.do("refill", on=False)


def test_the_http_workload_needs_an_http_url(worker):
    for fields in ({}, {"url": "ftp://x"}):
        message = worker.refuse("workload", spec="http", **fields)
        assert message == 'workload "http" needs a "url" to fetch; expected http://…'
    assert '"url" is 5' in worker.refuse("workload", spec="http", url=5)


@pytest.mark.parametrize(("name", "package"), [("asyncio", "aiohttp"), ("threads", "requests")])
def test_the_http_workload_names_a_missing_package_with_the_install_command(
    name, package, tmp_path, monkeypatch
):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Worker(name) as worker:
        message = worker.refuse("workload", spec="http", url="http://127.0.0.1:9/")
        assert message == f"workload \"http\" needs {package}: pip install 'concwatch[http]'"
        assert worker.target(3)["live"] == 3


def test_a_worker_raises_its_limit_on_open_files_for_many_connections(server):
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = f"resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))"
    code = f"import os, resource, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])"
    with Worker("uvloop", command=[sys.executable, "-c", code, *ENGINES["uvloop"].command()]) as worker:
        worker.do("workload", spec="http:0.2", url=page_url(server, 0.2))
        worker.send("burst", tasks=200, chunks=1, older=0, read_after=None)
        worker.wait("burst")
        assert worker.tick()["completed"] == 200, worker.all("error")
