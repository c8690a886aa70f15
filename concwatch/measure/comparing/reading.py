"""Reading of any file that can be compared."""

from pathlib import Path

import msgspec

from concwatch.measure.comparing.experiment_result import read_experiment
from concwatch.measure.comparing.recorded import read_recording
from concwatch.measure.comparing.run_result import read_run
from concwatch.measure.comparing.side import Side
from concwatch.measure.comparing.sweep_file import read_sweep
from concwatch.measure.comparing.watched import read_watch, read_watch_recording
from concwatch.portable.protocol.text import one_line
from concwatch.recordings.format import KIND
from concwatch.recordings.load import parse
from concwatch.recordings.reading import read_text

EXPECTED = "a recording, or what run, sweep, watch or experiment wrote with --json"

READERS = {"experiment": read_experiment, "lanes": read_run, "engines": read_sweep, "processes": read_watch}
"""Key that only one kind of result has → its reader."""

_Shape = msgspec.defstruct(
    "_Shape", [("type", str, ""), *((key, msgspec.Raw, msgspec.Raw()) for key in READERS)]
)
_shape = msgspec.json.Decoder(_Shape)
_ERRORS = (ValueError, RecursionError, OverflowError)
"""Raised by msgspec for other files: wrong types or encoding, too deep nesting, too large numbers."""


def read_both(a: Path, b: Path) -> tuple[Side, Side]:
    """Read two files, named by their file names, or by their paths if the file names are equal.

    Raises:
        ValueError: as in `read_side`.
    """
    alike = a.name == b.name
    return read_side(a, str(a) if alike else a.name), read_side(b, str(b) if alike else b.name)


def read_side(path: Path, name: str) -> Side:
    """Read a recording or a result; ``name`` is what the comparison calls it.

    Raises:
        ValueError: one line: it cannot be read, is neither, or is damaged.
    """
    text = read_text(path, EXPECTED)
    if not text.data.strip():
        raise ValueError(f'"{path}" is empty, not {EXPECTED}')
    return read_bytes(text.data, str(path), name, text.state)


def read_bytes(text: bytes, path: str, name: str, state: str = "") -> Side:
    """Parse the text of the file at ``path``; ``state`` is that of `concwatch.recordings.reading.Text`.

    Raises:
        ValueError: one line: it is neither a recording nor a result, or is damaged.
    """
    recording = parse(text, path, state) if _is_recording(text) else None
    try:
        if recording is not None:
            return (read_watch_recording if recording.watched else read_recording)(recording, name)
        shape = _shape.decode(text)
        for key, read in READERS.items():
            if getattr(shape, key):
                return read(text, name)
        raise ValueError("it is neither a recording nor a result")
    except _ERRORS as error:
        raise ValueError(f'"{path}" is damaged ({one_line(str(error))})') from None


def _is_recording(text: bytes) -> bool:
    try:
        return bool(getattr(_shape.decode(text.partition(b"\n")[0]), "type", "") == KIND)
    except _ERRORS:
        return False
