"""The echo server: what it sends back, clients that misbehave, and several processes at a low limit."""

import contextlib
import socket
import subprocess
import sys

import psutil
import pytest

from concwatch.system.child import python_command
from concwatch.system.echo_server import FILES_KEPT, NEXT
from tests.browser import until
from tests.processes import assert_ended

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no server on Windows"),
]

MOST = 20
"""Connections of each of its processes."""

START = """
import os, resource
taken = [os.dup(2) for _ in range({taken})]
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
from concwatch.system.echo_server import serve
serve({fd})
"""


class LimitedServer:
    """A server whose processes hold few connections each, and have so many files ``taken``."""

    def __init__(self, taken):
        with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listening:
            self.address = listening.getsockname()
            code = START.format(files=FILES_KEPT + MOST, fd=listening.fileno(), taken=taken)
            self.process = subprocess.Popen(
                python_command(code.strip().replace("\n", "; ")),
                stdin=subprocess.PIPE,
                pass_fds=[listening.fileno()],
            )

    def processes(self):
        """Return the processes that accept connections."""
        return psutil.Process(self.process.pid).children()

    def connect(self):
        """Return a new connection."""
        return socket.create_connection(self.address, 30)


@contextlib.contextmanager
def running(taken=0):
    """Run a server, and end its input."""
    server = LimitedServer(taken)
    try:
        yield server
        processes = server.processes()
    finally:
        server.process.stdin.close()
        status = server.process.wait(30)
    assert status == 0
    assert_ended(processes)


@pytest.fixture
def server():
    """A running server."""
    with running() as server:
        yield server


@pytest.fixture
def stack():
    """Closes connections."""
    with contextlib.ExitStack() as stack:
        yield stack


def echoed(connection, data=b"ping\n"):
    connection.sendall(data)
    received = b""
    while len(received) < len(data) and (more := connection.recv(1 << 16)):
        received += more
    return received == data


def test_what_a_client_sends_comes_back_until_it_ends(server, stack):
    first, second = (stack.enter_context(server.connect()) for _ in range(2))
    for _ in range(3):
        assert echoed(first)
        assert echoed(second, b"\x00\xff" * 50_000 + b"no line")
    first.shutdown(socket.SHUT_WR)
    assert first.recv(1) == b""
    assert echoed(second)


def test_a_client_that_does_not_read_is_disconnected(server, stack):
    flood = stack.enter_context(server.connect())
    with pytest.raises(ConnectionError):
        flood.sendall(bytes(640_000_000))  # which no buffer holds
    assert echoed(stack.enter_context(server.connect()))


def connections(server):
    """Return how many connections each process has."""
    return [
        sum(each.status == psutil.CONN_ESTABLISHED for each in process.net_connections("tcp"))
        for process in server.processes()
    ]


def test_more_processes_are_started_before_one_is_at_its_limit(server, stack):
    clients = [stack.enter_context(server.connect()) for _ in range(3 * MOST)]
    assert all(map(echoed, clients))

    def held_once_the_newest_has_room():
        held = connections(server)
        return held[-1] < MOST * NEXT and held  # or the next one is started

    held = until(held_once_the_newest_has_room, "a process with room")
    assert sum(held) == 3 * MOST
    assert max(held) <= MOST
    assert len(held) >= 3


def test_what_is_beyond_the_limit_waits_until_there_is_room(server, stack):
    clients = [stack.enter_context(server.connect()) for _ in range(MOST)]
    assert all(map(echoed, clients))
    for process in server.processes()[1:]:
        process.suspend()
    clients += [stack.enter_context(server.connect()) for _ in range(MOST)]
    for client in clients[:MOST]:
        client.close()
    for process in server.processes()[1:]:
        process.resume()
    assert all(map(echoed, clients[MOST:]))
    until(lambda: sum(connections(server)) == MOST, "closed connections are gone")


def test_a_server_that_cannot_accept_a_connection_tries_again(stack):
    with running(taken=FILES_KEPT) as server:  # fewer files are left than it expects
        clients = [stack.enter_context(server.connect()) for _ in range(MOST)]
        accepted = until(lambda: sum(connections(server)), "connections")
        assert accepted < MOST * NEXT
        for client in clients[:accepted]:
            assert echoed(client)
            client.close()
        assert all(map(echoed, clients[accepted : 2 * accepted]))
        assert len(server.processes()) == 1
