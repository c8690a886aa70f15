"""The cache of built workers in the user's cache folder: a folder for each source and toolchain.

Standard library, Python 3.9: a bridge keeps what it builds in it, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Iterator, Tuple


def folder() -> Path:
    """Return the cache folder, which may not exist yet."""
    try:
        from platformdirs import user_cache_path  # only to build
    except ImportError:  # on another host, which is Linux and has no packages
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return Path(cache, "concwatch", "runtimes")
    return user_cache_path("concwatch", appauthor=False) / "runtimes"


def _create_folder() -> Path:
    store = folder()
    store.mkdir(parents=True, exist_ok=True)
    return store


def is_built(folder: str) -> bool:
    """Return whether ``folder`` holds a finished build."""
    return os.path.isdir(folder)


@contextlib.contextmanager
def lock(key: str) -> Iterator[bool]:
    """Lock the build of ``key`` until the block ends; yield False if this or another process holds the lock.

    Raises:
        OSError: the folder is full or not writable.
    """
    with open(_create_folder() / f".{key}.lock", "ab") as file:
        try:
            import fcntl
        except ImportError:  # Windows: two processes may build the same, and one of them wins
            yield True
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True  # closing the file, or the end of this process, unlocks it


@contextlib.contextmanager
def staging_folder(key: str) -> Iterator[str]:
    """Yield a temporary folder to build in; move it to ``key`` if the block ends without an exception.

    Raises:
        OSError: the folder is full or not writable.
    """
    store = _create_folder()
    staging = tempfile.mkdtemp(prefix=f".{key}-", dir=store)
    try:
        yield staging
        with contextlib.suppress(OSError):  # another process has built the same first
            os.replace(staging, store / key)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def clean() -> Tuple[int, int]:
    """Remove all built workers; return the number of folders and their bytes.

    Raises:
        OSError: a folder could not be removed.
    """
    store = folder()
    built = [place for place in store.iterdir() if place.is_dir()] if store.is_dir() else []
    size = sum(path.lstat().st_size for place in built for path in place.rglob("*") if path.is_file())
    for place in built:
        shutil.rmtree(place)
    return len(built), size
