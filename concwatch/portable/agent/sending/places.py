"""The Unix sockets between agent and monitor, in folders that only one user can access."""

import _socket  # ``socket`` would import enum and selectors
import os
import stat
import sys
from errno import EBADF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

ADDRESS = "CONCWATCH_AGENT"
"""The environment variable that holds the path of the monitor's socket."""

OPTIONS = "CONCWATCH_AGENT_OPTIONS"
"""The environment variable that holds the names of the commands that are in effect from the beginning."""

CONNECT_TIMEOUT = 1.0
"""Seconds."""

HIGHEST = 1023
"""The highest number of a descriptor that is used: larger ones would enlarge the system's table of them."""

TRIED = 200
"""Descriptors that are tried below it."""


def socket_paths(pid: int, uid: int) -> "List[str]":
    """Return the paths at which a program that called ``agent.start()`` may listen.

    Args:
        pid: the process.
        uid: its user.
    """
    folders = [f"/run/user/{uid}", os.environ.get("TMPDIR") or "/tmp", "/tmp"]
    return list(dict.fromkeys(f"{folder.rstrip('/')}/concwatch-{uid}/{pid}.sock" for folder in folders))


def check_folder(path: str) -> None:
    """Raise unless only the current user can access a folder.

    Raises:
        OSError: the folder does not have mode 0700, or belongs to another user.
    """
    status = os.lstat(path)
    owned = status.st_uid in (os.geteuid(), 0)
    if not stat.S_ISDIR(status.st_mode) or stat.S_IMODE(status.st_mode) & 0o077 or not owned:
        raise PermissionError(f"{path} is not a folder that only this user can access")


def check_peer(sock: _socket.socket) -> None:
    """Raise unless the peer runs as the current user or as root.

    Raises:
        OSError: it does not.
    """
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:  # only the mode of the folder protects
        return
    credentials = sock.getsockopt(_socket.SOL_SOCKET, option, 12)
    uid = int.from_bytes(credentials[4:8], sys.byteorder)
    if uid not in (os.geteuid(), 0):
        raise PermissionError(f"the peer runs as user {uid}")


def unix_socket() -> _socket.socket:
    """Return an unconnected socket; raises OSError."""
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)


def moved(sock: _socket.socket) -> _socket.socket:
    """Move a socket to a high descriptor, so that the program's files have the same ones as without it.

    It stays where it is if there is no free number.
    """
    try:
        highest = min(HIGHEST, os.sysconf("SC_OPEN_MAX") - 1)
        for number in range(highest, max(highest - TRIED, sock.fileno()), -1):
            if not _is_open(number):
                os.dup2(sock.fileno(), number, inheritable=False)
                sock.close()
                return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=number)
    except (OSError, ValueError, AttributeError):
        pass
    return sock


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def connect(path: str, sock: "Optional[_socket.socket]" = None) -> _socket.socket:
    """Connect to the monitor that listens at ``path``; return a non-blocking socket.

    Args:
        path: the monitor's socket.
        sock: an unconnected socket, which is closed if an error is raised; None for a new one.

    Raises:
        OSError: nothing listens there, or a process of another user does.
    """
    sock = sock or unix_socket()
    try:
        check_folder(os.path.dirname(path))
        sock.settimeout(CONNECT_TIMEOUT)
        sock.connect(path)
        check_peer(sock)
        sock.setblocking(False)
    except OSError as error:
        if error.errno == EBADF:  # the program has closed it; its number may be another file's by now
            sock.detach()
        sock.close()
        raise
    return sock


def listen() -> "Tuple[_socket.socket, str]":
    """Listen at the first path that can be bound; return the non-blocking socket and the path.

    Raises:
        OSError: no path can be bound.
    """
    error: OSError = FileNotFoundError("no folder for a socket")
    for path in socket_paths(os.getpid(), os.geteuid()):
        folder = os.path.dirname(path)
        sock = moved(unix_socket())
        try:
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
            check_folder(folder)
            if os.path.exists(path):
                os.unlink(path)  # left by an earlier process with this pid
            sock.bind(path)
            sock.listen(4)
            sock.setblocking(False)
            return sock, path
        except OSError as problem:
            sock.close()
            error = problem
    raise error


def accept(listener: _socket.socket) -> _socket.socket:
    """Accept a connection; return a non-blocking socket.

    Raises:
        BlockingIOError: none is pending.
        OSError: its peer is another user.
    """
    number, _ = listener._accept()  # type: ignore[attr-defined]  # socket.accept calls it
    sock = moved(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=number))
    try:
        check_peer(sock)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
