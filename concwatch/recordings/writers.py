"""Where the lines of a recording go: a plain file, or one that is compressed on the way."""

import contextlib
import os
import sys
import zlib
from pathlib import Path


class Lost(OSError):
    """What was written is no longer where anybody can read it."""


class FileWriter:
    """Writes lines, each of which can be read from the file as soon as `write` returns.

    The file is locked, so that others can see that it is still written to.
    """

    def __init__(self, path: Path) -> None:
        """Make the file, compressed if its name ends in ``.gz``; whatever exists stays as it is.

        That is true of a pipe, too: who reads it might wait. A device such as ``/dev/full``, which never has
        one wait, is written to as it stands.

        Raises:
            OSError: the system refused, or the file exists.
        """
        self._device = path.is_char_device()
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= 0 if self._device else os.O_CREAT | os.O_EXCL
        self._file = os.open(path, flags, 0o666)
        self._path = path
        self._gzip = zlib.compressobj(wbits=31) if path.suffix == ".gz" else None
        self.size = 0
        """Bytes that the file has taken so far."""
        if not self._device:
            lock(self._file)

    def write(self, line: bytes) -> None:
        """Put one line into the file.

        Raises:
            OSError: the system refused.
        """
        if self._gzip is not None:
            line = self._gzip.compress(line) + self._gzip.flush(zlib.Z_SYNC_FLUSH)
        self._put(line)

    def _put(self, data: bytes) -> None:
        while data:
            count = os.write(self._file, data)
            self.size += count
            data = data[count:]

    def check(self) -> None:
        """See that what was written can still be found.

        Raises:
            Lost: the file was deleted, or emptied.
        """
        status = os.fstat(self._file)
        if status.st_nlink == 0:
            raise Lost("it was deleted")
        if status.st_size < self.size and not self._device:
            raise Lost("something else has cut it short")

    def close(self) -> None:
        """End the compressed text, if it is one, and close the file; once.

        Raises:
            OSError: the system refused the last bytes; the file is closed all the same.
        """
        try:
            if self._gzip is not None and self._file >= 0:
                self._put(self._gzip.flush())
        finally:
            self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def discard(self) -> None:
        """Close the file, and remove it unless it is a device, or no longer what the path leads to.

        Raises:
            OSError: it is gone already, or cannot be removed.
        """
        own = not self._device and os.path.samestat(os.fstat(self._file), os.stat(self._path))
        self._close()
        if own:
            self._path.unlink()


def open_writer(path: Path) -> FileWriter:
    """Make the file of a recording; a name that ends in ``.gz`` has it compressed.

    Raises:
        ValueError: one line: it cannot be made, or exists.
    """
    try:
        return FileWriter(path)
    except FileExistsError:
        if path.exists() and not path.is_file():
            raise ValueError(f'"{path}" is no ordinary file: expected the name of a new file') from None
        raise ValueError(f'"{path}" exists: expected the name of a new file, or delete it first') from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'"{path}": {why}: expected a new file in a folder that can be written') from None


if sys.platform == "win32":

    def lock(file: int) -> None:
        """Leave an open file as it is: there are no such locks here."""

    def is_locked(file: int) -> bool:
        """Return no: locks are not known here."""
        return False

else:
    import fcntl

    def lock(file: int) -> None:
        """Lock an open file for as long as this process has it open; where that is not possible leave it."""
        # Not every file system has locks, and nothing but a word in a list depends on it.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def is_locked(file: int) -> bool:
        """Return whether some process has locked an open file."""
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
        return False
