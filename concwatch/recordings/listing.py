"""Which recordings a folder holds, found from little of each file."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from concwatch.recordings.format import EndLine
from concwatch.recordings.load import ERRORS, parse, read_header
from concwatch.recordings.reading import CUT, DAMAGED, read_beginning, read_text

TAIL = 1 << 14
"""Bytes at a file's end in which its last line is looked for."""

FINISHED = "finished"


class Summary(Struct, frozen=True):
    """One recording, in a list."""

    file: str
    began: str
    """When, in UTC, as the header has it."""
    seconds: float
    lanes: tuple[str, ...]
    samples: int
    size: int
    """Bytes of the file."""
    state: str
    """`FINISHED`, `WRITTEN`, `CUT` or `DAMAGED`."""


_end = msgspec.json.Decoder(EndLine)


def find_recordings(folder: Path) -> list[Summary]:
    """List the recordings in ``folder``, the newest first; what is no recording is passed over.

    Raises:
        OSError: the folder cannot be read.
    """
    found = [summary for path in folder.iterdir() if path.is_file() for summary in _summary(path)]
    return sorted(found, key=lambda summary: (summary.began, summary.file), reverse=True)


def _summary(path: Path) -> Iterator[Summary]:
    """Yield the summary of a file; nothing where it is no recording, or cannot be read."""
    try:
        header = read_header(read_beginning(path).partition(b"\n")[0], str(path))
        seconds, samples, state = _extent(path)
        size = path.stat().st_size
    except (OSError, ValueError):
        return
    names = tuple(lane.name for lane in header.lanes)
    yield Summary(str(path), header.began, seconds, names, samples, size, state)


def _extent(path: Path) -> tuple[float, int, str]:
    """Return how long a recording is, how many samples it has, and whether it has come to its end.

    Of one that has come there its last line is enough; any other is read as a replay reads it.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        end = _read_end(file.read())  # what is compressed has none
    if end is None:
        text, lack = read_text(path)
        end = _read_end(text[-TAIL:]) if lack != DAMAGED else None
    if end is not None:
        return end.time, end.samples, FINISHED
    recording = parse(text, str(path), lack)
    finished = recording.end is not None and lack != DAMAGED
    return recording.duration, recording.samples, FINISHED if finished else lack or CUT


def _read_end(tail: bytes) -> EndLine | None:
    try:
        return _end.decode(tail.rstrip(b"\n").rpartition(b"\n")[2])
    except ERRORS:
        return None
