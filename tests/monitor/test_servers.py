"""The servers that tasks connect to: processes that answer, report their end, and leave nothing behind."""

import asyncio
import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes import servers
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.servers import HOST, SERVERS, Server, missing, read_workload, server_problem
from concwatch.monitor.metrics.settings import Settings
from concwatch.portable.protocol.workloads import parse
from concwatch.system.child import ROOT
from tests.browser import until
from tests.command_line import refused
from tests.processes import alive, assert_ended

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no servers on Windows"),
]

LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux signals the death of a parent"
)


@pytest.fixture(params=SERVERS)
def word(request):
    """Each workload that has a server."""
    return request.param


def settings_of(server, word):
    workload = parse(word)
    return Settings(word, url=server.url(workload), addresses=server.addresses)


def processes_of(pid):
    """Return a server's process and those that it has started."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def test_a_server_answers_as_soon_as_it_is_asked_and_closing_leaves_no_process(word):
    with contextlib.closing(Server(word)) as server:
        assert asyncio.run(server_problem(settings_of(server, word))) is None
        assert server.ended() is None
        processes = processes_of(server.pid)
    assert_ended(processes)


def test_no_server_is_asked_without_need_or_on_another_host():
    for settings in (Settings("hold"), Settings("connect", url="tcp://10.0.0.1:9"), Settings("connect")):
        assert asyncio.run(server_problem(settings)) is None


def test_a_server_that_does_not_answer_is_named():
    with contextlib.closing(Server("connect")) as server:
        settings = settings_of(server, "connect")
    assert asyncio.run(server_problem(settings)).startswith("the echo server does not answer: ")


@pytest.mark.parametrize(
    ("code", "expected"), [("sys.exit('no')", "exited with status 1: no"), (None, "killed by SIGKILL")]
)
def test_the_end_of_a_server_is_reported(word, code, expected, monkeypatch):
    if code:
        monkeypatch.setattr(servers, "_start_code", lambda kind, descriptors: code)
    with contextlib.closing(Server(word)) as server:
        if not code:
            os.kill(server.pid, signal.SIGKILL)
        assert until(server.ended, "end") == expected


def test_the_end_of_one_process_of_the_echo_server_is_the_end_of_all():
    with contextlib.closing(Server("connect")) as server:
        (child,) = until(psutil.Process(server.pid).children, "the process that accepts connections")
        child.kill()
        assert until(server.ended, "end") == "killed by SIGKILL"


PARENT = """
import sys, time
sys.path[0] = {root!r}
from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes import servers
from concwatch.monitor.lanes.lab import Lab
{before}
server = servers.Server({word!r})
print(server.pid, server.port, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("before", "stopped"),
    [
        pytest.param("", True, marks=LINUX, id="by a signal while it is stopped"),
        pytest.param(
            "servers.ChildSetup.apply = lambda setup, pid: None", False, id="by the end of its input"
        ),
    ],
)
def test_a_server_ends_when_its_parent_is_killed(word, before, stopped):
    command = [sys.executable, "-c", PARENT.format(root=ROOT, before=before, word=word)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        processes = []
        try:
            pid, port = map(int, parent.stdout.readline().split())
            url = SERVERS[word].url.format(port=port, value=0.0)
            assert asyncio.run(server_problem(Settings(word, url=url))) is None
            processes = processes_of(pid)
            for process in processes if stopped else ():
                process.suspend()
        finally:
            parent.kill()
    try:
        assert_ended(processes)
    finally:
        for process in filter(alive, processes):
            process.kill()


@LINUX
def test_the_echo_server_listens_on_one_port_of_many_addresses_and_on_no_other():
    with contextlib.closing(Server("connect")) as server:
        assert server.addresses == 32
        assert server.url(parse("connect:3s")) == f"tcp://{HOST}:{server.port}"
        for last in (1, 2, 32):
            with socket.create_connection((f"127.0.0.{last}", server.port), 30) as connection:
                connection.sendall(b"ping\n")
                assert connection.recv(10) == b"ping\n"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.33", server.port), 30)


def test_a_system_with_fewer_addresses_has_a_server_on_those(monkeypatch):
    real = socket.create_server

    def create(address, **options):
        if address[0] == "127.0.0.2":
            raise OSError(99, "Cannot assign requested address")
        return real(address, **options)

    monkeypatch.setattr(servers.errno, "EADDRNOTAVAIL", 99)
    monkeypatch.setattr(socket, "create_server", create)
    with contextlib.closing(Server("connect")) as server:
        assert server.addresses == 1
        assert asyncio.run(server_problem(settings_of(server, "connect"))) is None


@LINUX
def test_a_port_that_another_program_has_on_one_of_the_addresses_is_not_used(monkeypatch):
    real, taken = socket.create_server, []

    def create(address, **options):
        if address[0] == "127.0.0.2" and not taken:
            taken.append(real(address, **options))
        return real(address, **options)

    monkeypatch.setattr(socket, "create_server", create)
    with contextlib.closing(Server("connect")) as server:
        assert (server.addresses, server.port != taken[0].getsockname()[1]) == (32, True)
    taken[0].close()


def test_without_a_port_or_a_file_the_reason_is_one_line(monkeypatch):
    def refuse(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(ValueError, match=r"^the echo server could not be started: Too many open files"):
        Server("connect")


def test_only_the_page_needs_a_package_and_neither_server_runs_on_windows(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert (missing("hold"), missing("connect")) == (None, None)
    assert read_workload(" connect:10s ") == "connect:10s"
    with pytest.raises(ValueError, match="needs aiohttp"):
        read_workload("http")
    monkeypatch.setattr(sys, "platform", "win32")
    for word in SERVERS:
        assert missing(word) == (
            f'workload "{word}" is not available on Windows: a server cannot inherit its socket'
        )


def test_without_aiohttp_the_command_line_names_the_install_command(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "aiohttp" else real(name, *rest)
    )
    message = "workload \"http\" needs aiohttp: pip install 'concwatch[http]'"
    assert refused("run", "asyncio", "--tasks", "5", "--workload", "http").startswith(message)
    with pytest.raises(ValueError, match="needs aiohttp"):
        Lab([], open_link=open_process, settings=Settings("http"))
