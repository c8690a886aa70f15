"""The list of the recordings in a folder, from a small part of each file."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from concwatch.recordings.format import EndLine
from concwatch.recordings.load import ERRORS, parse, read_header
from concwatch.recordings.reading import CUT, DAMAGED, read_beginning, read_text

TAIL = 1 << 14
"""Bytes at a file's end that are searched for its last line."""

FINISHED = "finished"


class Summary(Struct, frozen=True):
    """One recording of a list."""

    file: str
    began: str
    """The start in UTC, as in the header."""
    seconds: float
    lanes: tuple[str, ...]
    samples: int
    size: int
    """Bytes of the file."""
    state: str
    """`FINISHED`, `WRITTEN`, `CUT` or `DAMAGED`."""


_end = msgspec.json.Decoder(EndLine)


def find_recordings(folder: Path) -> list[Summary]:
    """List the recordings in ``folder``, newest first; ignore other files.

    Raises:
        OSError: the folder cannot be read.
    """
    found = [summary for path in folder.iterdir() if path.is_file() for summary in _summary(path)]
    return sorted(found, key=lambda summary: (summary.began, summary.file), reverse=True)


def _summary(path: Path) -> Iterator[Summary]:
    """Yield the summary of a file, or nothing if it is not a recording or cannot be read."""
    try:
        header = read_header(read_beginning(path).partition(b"\n")[0], str(path))
        seconds, samples, state = _extent(path)
        size = path.stat().st_size
    except (OSError, ValueError):
        return
    names = tuple(lane.name for lane in header.lanes)
    yield Summary(str(path), header.began, seconds, names, samples, size, state)


def _extent(path: Path) -> tuple[float, int, str]:
    """Return a recording's seconds, its number of samples, and its state.

    The last line of a finished recording has all of them; any other recording is read completely.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        end = _read_end(file.read())  # None if it is compressed
    if end is None:
        text, state = read_text(path)
        end = _read_end(text[-TAIL:]) if state != DAMAGED else None
    if end is not None:
        return end.time, end.samples, FINISHED
    recording = parse(text, str(path), state)
    finished = recording.end is not None and state != DAMAGED
    return recording.duration, recording.samples, FINISHED if finished else state or CUT


def _read_end(tail: bytes) -> EndLine | None:
    try:
        return _end.decode(tail.rstrip(b"\n").rpartition(b"\n")[2])
    except ERRORS:
        return None
