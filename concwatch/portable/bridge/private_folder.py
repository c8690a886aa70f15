"""Folders that only this user can access, for sockets and for the output of watched programs.

Whatever creates something in them first removes what earlier runs have left behind there. Standard library:
bridges use it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
import time

from concwatch.portable.agent.sending.places import check_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Dict, List

SOCKETS, LOCK = "watch-", "lock"
"""How the names of folders for sockets begin, and the file in each that its process has locked."""

SOCKET = ".sock"
"""How the names of the sockets end on which programs listen that have called ``agent.start()``."""

OUTPUT, LOG = "output-", ".log"
"""How the names of files with the output of programs begin and end."""

ATTEMPTS = 10
"""Attempts to create a folder while other processes remove theirs."""

MAX_SOCKET_BASE = 70
"""Longest path of a private folder, in bytes, in which a socket's path is not too long."""

YOUNG = 60.0
"""Seconds for which something may be unlocked, since its process is just creating or removing it."""

KEPT = 7 * 86_400.0
"""Seconds for which the output of a program is kept."""

_locks: Dict[str, int] = {}
"""Path of a folder for a socket → the descriptor that locks it, as long as this process runs."""


def socket_folder() -> str:
    """Create a folder of mode 0700 for the socket that agents connect to; return its path.

    It is to be removed with `remove_socket_folder`.

    Raises:
        OSError: it cannot be created.
    """
    for _ in range(ATTEMPTS):
        private = _private_folder(_short_paths(), "/tmp")
        try:
            path = tempfile.mkdtemp(prefix=SOCKETS, dir=private)
            lock = os.open(os.path.join(path, LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # another process has just removed the private folder, which was empty
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):  # nobody has swept it before it was locked
            _locks[path] = lock
            sweep()
            return path
        os.close(lock)
    raise FileNotFoundError("no folder for a socket")


def remove_socket_folder(path: str) -> None:
    """Remove a folder that `socket_folder` has created."""
    shutil.rmtree(path, ignore_errors=True)
    lock = _locks.pop(path, None)
    if lock is not None:
        os.close(lock)
    try:
        os.rmdir(os.path.dirname(path))
    except OSError:  # others use it
        pass


def output_file() -> IO[bytes]:
    """Create a file for the output of a program.

    It is locked as long as this process or the program has it open. Then the next run removes it if it is
    empty, and otherwise once it is older than `KEPT`.

    Raises:
        OSError: it cannot be created.
    """
    sweep()
    temporary = tempfile.gettempdir()  # it may become large, and the folder for sockets be in memory
    for _ in range(ATTEMPTS):
        private = _private_folder([_path_in(temporary)], temporary)
        try:
            file = tempfile.NamedTemporaryFile(prefix=OUTPUT, suffix=LOG, dir=private, delete=False)
        except FileNotFoundError:  # another process has just removed the private folder, which was empty
            continue
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a file system without locks
            pass
        return file
    raise FileNotFoundError("no folder for the program's output")


def _path_in(base: str) -> str:
    return os.path.join(base, f"concwatch-{os.geteuid()}")


def _short_paths() -> List[str]:
    """Return the paths of private folders in which a socket's path is not too long."""
    paths = [
        _path_in(base) for base in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")
    ]
    return [path for path in paths if os.path.isabs(path) and len(os.fsencode(path)) <= MAX_SOCKET_BASE]


def _private_folder(paths: List[str], fallback: str) -> str:
    """Return the first of ``paths`` that only this user can access, creating it if needed."""
    for path in paths:
        try:
            if not os.path.isdir(path):
                os.mkdir(path, 0o700)
            check_folder(path)
            return path
        except OSError:
            pass
    return fallback


def sweep() -> None:
    """Remove what processes that have ended left behind in the private folders. Never raises OSError."""
    for private in dict.fromkeys([*_short_paths(), _path_in(tempfile.gettempdir())]):
        try:
            check_folder(private)
            names = os.listdir(private)
        except OSError:
            continue
        for name in names:
            path = os.path.join(private, name)
            try:
                if path not in _locks:
                    _sweep_one(path, name)
            except OSError:  # it is in use, or somebody else has just removed it
                pass


def _sweep_one(path: str, name: str) -> None:
    """Remove a file or folder if nobody uses it; raises OSError."""
    found = os.lstat(path)
    age = time.time() - found.st_mtime
    if name.endswith(SOCKET):
        if age > YOUNG and not _listens(path):
            os.unlink(path)
    elif name.startswith(OUTPUT) and name.endswith(LOG):
        if age > (KEPT if found.st_size else YOUNG):
            _remove(path, path)
    elif name.startswith(SOCKETS):
        lock = os.path.join(path, LOCK)
        if os.path.exists(lock):
            _remove(path, lock)
        elif age > YOUNG:
            shutil.rmtree(path, ignore_errors=True)


def _remove(path: str, lock: str) -> None:
    """Remove a file or folder unless ``lock`` is locked; raises OSError if it is."""
    file = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path == lock:
            os.unlink(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(file)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:  # its backlog is full
            pass
    return True
