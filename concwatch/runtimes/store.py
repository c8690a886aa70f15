"""Where built workers are kept: the user's cache folder, a folder for each source and toolchain."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def folder() -> Path:
    """Return the folder; it may not be there yet."""
    from platformdirs import user_cache_path  # only for who builds

    return user_cache_path("concwatch", appauthor=False) / "runtimes"


def _made() -> Path:
    """Return the folder, made if it was not there; raises OSError without room, or the right to write."""
    store = folder()
    store.mkdir(parents=True, exist_ok=True)
    return store


def is_built(place: Path) -> bool:
    """Return whether a build has taken its place."""
    return place.is_dir()


@contextlib.contextmanager
def lock(key: str) -> Iterator[bool]:
    """Yield whether nobody else builds ``key``, here or in another process, until the block ends.

    Raises:
        OSError: there is no room, or no right to write.
    """
    with open(_made() / f".{key}.lock", "ab") as file:
        try:
            import fcntl
        except ImportError:  # Windows: two may build the same then, and one of them wins
            yield True
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True  # closing the file, or the end of this process, lets go


@contextlib.contextmanager
def half_built(key: str) -> Iterator[Path]:
    """Yield a folder to build in, which takes its place under ``key`` once the block has ended in order.

    Raises:
        OSError: there is no room, or no right to write.
    """
    store = _made()
    part = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=store))
    try:
        yield part
        with contextlib.suppress(OSError):  # another concwatch was faster: what it built is the same
            os.replace(part, store / key)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def clean() -> tuple[int, int]:
    """Remove all that was ever built; give how many folders that were, and their bytes.

    Raises:
        OSError: one could not be removed.
    """
    store = folder()
    built = [place for place in store.iterdir() if place.is_dir()] if store.is_dir() else []
    size = sum(path.lstat().st_size for place in built for path in place.rglob("*") if path.is_file())
    for place in built:
        shutil.rmtree(place)
    return len(built), size
