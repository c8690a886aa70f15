"""Writing the lines of a recording to a file, plain or compressed."""

import contextlib
import os
import sys
import zlib
from pathlib import Path


class FileLost(OSError):
    """The recording's file was deleted or truncated."""


class FileWriter:
    """Writes lines to a new file; each can be read as soon as `write` returns.

    The file is locked, which shows others that it is still being written.
    """

    def __init__(self, path: Path) -> None:
        """Create the file, compressed if its name ends in ``.gz``; never overwrite one.

        A pipe counts as an existing file: opening it could block. A character device such as ``/dev/full``,
        which never blocks, is opened as it is.

        Raises:
            OSError: the file exists or cannot be created.
        """
        self._device = path.is_char_device()
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= 0 if self._device else os.O_CREAT | os.O_EXCL
        self._file = os.open(path, flags, 0o666)
        self._path = path
        self._gzip = zlib.compressobj(wbits=31) if path.suffix == ".gz" else None
        self.size = 0
        """Bytes written so far."""
        if not self._device:
            lock(self._file)

    def write(self, line: bytes) -> None:
        """Write one line.

        Raises:
            OSError: it could not be written.
        """
        if self._gzip is not None:
            line = self._gzip.compress(line) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self._write(line)

    def _write(self, data: bytes) -> None:
        while data:
            count = os.write(self._file, data)
            self.size += count
            data = data[count:]

    def check(self) -> None:
        """Check that the file still has all that was written.

        Raises:
            FileLost: the file was deleted or truncated.
        """
        status = os.fstat(self._file)
        if status.st_nlink == 0:
            raise FileLost("it was deleted")
        if status.st_size < self.size and not self._device:
            raise FileLost("another program truncated it")

    def close(self) -> None:
        """Finish the compressed text, if any, and close the file; calling it again does nothing.

        Raises:
            OSError: the last bytes could not be written; the file is closed anyway.
        """
        try:
            if self._gzip is not None and self._file >= 0:
                self._write(self._gzip.flush())
        finally:
            self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def discard(self) -> None:
        """Close the file, and delete it unless it is a device or another file has taken its path.

        Raises:
            OSError: the file has already been deleted, or cannot be.
        """
        own = not self._device and os.path.samestat(os.fstat(self._file), os.stat(self._path))
        self._close()
        if own:
            self._path.unlink()


def open_writer(path: Path) -> FileWriter:
    """Create the file of a recording, compressed if its name ends in ``.gz``.

    Raises:
        ValueError: one line: the file exists or cannot be created.
    """
    try:
        return FileWriter(path)
    except FileExistsError:
        if path.exists() and not path.is_file():
            raise ValueError(f'"{path}" is not a regular file; give the name of a new one') from None
        raise ValueError(f'file "{path}" exists; delete it first, or give the name of a new one') from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'file "{path}" cannot be written ({why})') from None


if sys.platform == "win32":

    def lock(file: int) -> None:
        """Do nothing: Windows has no such locks."""

    def is_locked(file: int) -> bool:
        """Return False: Windows has no such locks."""
        return False

else:
    import fcntl

    def lock(file: int) -> None:
        """Lock an open file until it is closed, if its file system has locks."""
        # Without one, a list of recordings shows "cut off" in place of "being written".
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def is_locked(file: int) -> bool:
        """Return whether a process has locked an open file."""
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
