"""The monitor's end of a connection to an agent."""

import contextlib
import json
import socket

import pytest

from concwatch.links.agent_link import AgentLink, SocketTransport

pytestmark = pytest.mark.real_time

COMMANDS = 2_000
"""With 100 KB in each hundredth more than the buffers of a socket hold."""


def received(agent: socket.socket) -> bytes:
    """Return what has arrived at the agent's end."""
    parts = []
    with contextlib.suppress(BlockingIOError):
        while data := agent.recv(1 << 20):
            parts.append(data)
    return b"".join(parts)


def test_the_rest_of_a_partly_sent_command_follows_without_another_command():
    monitor, agent = socket.socketpair()
    agent.setblocking(False)
    with contextlib.closing(agent):
        link = AgentLink(SocketTransport(monitor), 0)
        with contextlib.closing(link):
            for number in range(COMMANDS):
                link.send("trace", number=number, text="x" * 100_000 if number % 100 == 0 else "")
            lines = received(agent)
            assert lines.count(b"\n") < COMMANDS
            while lines.count(b"\n") < COMMANDS:
                assert not link.arrivals()
                more = received(agent)
                assert more, "the rest is never sent"
                lines += more
    assert [json.loads(line)["number"] for line in lines.splitlines()] == list(range(COMMANDS))


def test_nothing_is_sent_over_a_closed_connection():
    monitor, agent = socket.socketpair()
    with contextlib.closing(agent):
        link = AgentLink(SocketTransport(monitor), 0)
        link.close()
        link.send("trace", on=True)
        assert agent.recv(1) == b""
