"""Where agent and monitor meet: Unix sockets in folders that are one user's alone."""

from __future__ import annotations

import _socket  # ``socket`` would bring enum and selectors with it
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

ADDRESS = "CONCWATCH_AGENT"
"""The environment variable that holds the path of the monitor's socket."""

PATIENCE = 1.0
"""Seconds that a monitor may take to accept."""


def socket_paths(pid: int, uid: int) -> List[str]:
    """List where a program that called ``agent.start()`` may listen; ``uid`` is the user that it runs as."""
    folders = [f"/run/user/{uid}", os.environ.get("TMPDIR") or "/tmp", "/tmp"]
    return list(dict.fromkeys(f"{folder.rstrip('/')}/concwatch-{uid}/{pid}.sock" for folder in folders))


def check_folder(path: str) -> None:
    """See that nobody else can have put something there.

    Raises:
        OSError: the folder is not of mode 0700, or another user's.
    """
    found = os.lstat(path)
    mine = found.st_uid in (os.geteuid(), 0)
    if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) & 0o077 or not mine:
        raise PermissionError(f"{path} is not a folder that only this user may enter")


def check_peer(sock: _socket.socket) -> None:
    """See that the same user, or root, is at the other end.

    Raises:
        OSError: it is somebody else.
    """
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:  # the folder's mode has to do
        return
    credentials = sock.getsockopt(_socket.SOL_SOCKET, option, 12)
    uid = int.from_bytes(credentials[4:8], sys.byteorder)
    if uid not in (os.geteuid(), 0):
        raise PermissionError(f"user {uid} is at the other end")


def connect(path: str) -> _socket.socket:
    """Connect to the monitor that listens at ``path``.

    Raises:
        OSError: nobody listens there, or not the right one.
    """
    check_folder(os.path.dirname(path))
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(PATIENCE)
        sock.connect(path)
        check_peer(sock)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def listen() -> Tuple[_socket.socket, str]:
    """Listen at the first path that can be had; return the socket and the path.

    Raises:
        OSError: there is none.
    """
    error: OSError = FileNotFoundError("no folder for a socket")
    for path in socket_paths(os.getpid(), os.geteuid()):
        folder = os.path.dirname(path)
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
            check_folder(folder)
            if os.path.exists(path):
                os.unlink(path)  # of a process that had this pid before
            sock.bind(path)
            sock.listen(4)
            sock.setblocking(False)
            return sock, path
        except OSError as found:
            sock.close()
            error = found
    raise error


def accept(listener: _socket.socket) -> _socket.socket:
    """Take a connection that waits.

    Raises:
        BlockingIOError: none waits.
        OSError: it is not the right one's.
    """
    number, _ = listener._accept()  # type: ignore[attr-defined]  # what socket.accept calls
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=number)
    try:
        check_peer(sock)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
