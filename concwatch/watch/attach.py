"""Attaching to a process of this machine that runs already."""

import os
import socket

from concwatch.agent.places import socket_paths
from concwatch.links.agent_link import AgentLink, peer
from concwatch.system.processes import look


def listening(pid: int) -> AgentLink | None:
    """Connect to a process that called ``agent.start()``; None where it did not."""
    found = look(pid)
    for path in socket_paths(pid, found.user) if found else ():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(1.0)
            connection.connect(path)
            if found and peer(connection)[1] == found.user:
                return AgentLink(connection)
        except OSError:
            pass
        connection.close()
    return None


def why_not(pid: int) -> str | None:
    """Return why a process cannot be watched at all, in one line, or None."""
    if pid == os.getpid():
        return f"{pid} is concwatch itself: expected another process"
    found = look(pid)
    if found is None:
        return f"there is no process {pid}: expected one that runs"
    if found.user != os.geteuid() and os.geteuid() != 0:
        return f"{pid} is another user's: expected a process of this user"
    return None
