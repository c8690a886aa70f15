"""Reading the text of a recording, plain or compressed, complete or not."""

import contextlib
import zlib
from pathlib import Path
from typing import NamedTuple

from concwatch.portable.protocol.units import format_bytes
from concwatch.recordings.writers import is_locked
from concwatch.system.memory import memory_now

GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""

CHUNK = 1 << 20
"""Bytes that `read_beginning` reads, and that are decompressed at once."""

SHARE = 16
"""The text may take a sixteenth of the available memory, since the objects parsed from it take far more."""

EXPECTED = "a recording, as --record and the key r write them"

CUT, DAMAGED, WRITTEN = "cut off", "damaged", "being written"


class Text(NamedTuple):
    """The text of a file, as far as it could be read."""

    data: bytes
    state: str = ""
    """`CUT`, `DAMAGED`, `WRITTEN`, or an empty string if the text is complete.

    `CUT` and `DAMAGED` are for compressed text only; in plain text the lines show it.
    """


def read_text(path: Path, expected: str = EXPECTED, most: int | None = None) -> Text:
    """Read a file, and decompress it if its content is compressed, whatever its name.

    Of a compressed file that is cut off or damaged, return what can be decompressed.

    Args:
        path: the file.
        expected: what the file should be, for error messages.
        most: the largest text in bytes; None for a share of the available memory.

    Raises:
        ValueError: one line: the file cannot be read or decompressed, or is too large.
    """
    most = memory_now().available // SHARE if most is None else most
    try:
        if path.is_dir():
            raise ValueError(f'"{path}" is a folder, not {expected}')
        with path.open("rb") as file:
            written = is_locked(file.fileno())
            data = file.read(most + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise ValueError(f'file "{path}" does not exist') from None
        raise ValueError(f'file "{path}" cannot be read ({error.strerror or error})') from None
    text = decompress(data, most + 1) if data.startswith(GZIP) else Text(data)
    if text.state and not text.data:
        raise ValueError(f'"{path}" is {text.state}, and no part of it can be decompressed')
    if len(text.data) > most:
        raise ValueError(
            f'"{path}" holds more than {format_bytes(most)} of text, a share of 1/{SHARE} of the memory '
            "available here"
        )
    return text._replace(state=WRITTEN) if written else text


def read_beginning(path: Path) -> bytes:
    """Return at most the first `CHUNK` bytes of a file's text, decompressed if it is compressed.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(CHUNK)
    return decompress(data, CHUNK).data if data.startswith(GZIP) else data


def decompress(data: bytes, most: int) -> Text:
    """Decompress gzip ``data`` of one or more members, up to ``most`` bytes or to the first damage."""
    parts: list[bytes] = []
    start, left, step = 0, most, CHUNK // 16
    member = zlib.decompressobj(wbits=31)
    # In pieces, so that a small file never expands beyond the limit.
    while start < len(data) and left > 0:
        if member.eof:
            if not data.startswith(GZIP, start):
                break  # the rest is not gzip
            member = zlib.decompressobj(wbits=31)
        before = member.copy()
        piece = data[start : start + step]
        try:
            part = member.decompress(piece, min(left, CHUNK))
        except zlib.error:
            # A damaged piece gives nothing at all: approach the damage in smaller pieces.
            if step == 1:
                return Text(b"".join(parts), DAMAGED)
            member, step = before, step // 2
            continue
        start += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
        left -= len(part)
        parts.append(part)
    if not member.eof and left > 0:
        with contextlib.suppress(zlib.error):
            parts.append(member.flush()[:left])
    return Text(b"".join(parts), "" if member.eof or left <= 0 else CUT)
