"""The text of a recording, plain or compressed, as far as it goes."""

import contextlib
import zlib
from pathlib import Path
from typing import NamedTuple

from concwatch.recordings.writers import is_locked
from concwatch.system.memory import memory_now
from concwatch.units import format_bytes

GZIP = b"\x1f\x8b"
"""What a gzip file begins with."""

PIECE = 1 << 20
"""Bytes that a look at a file's beginning takes, and that are decompressed at once."""

SHARE = 16
"""The available memory over what a file's text may take: what is made of it may take so much more."""

EXPECTED = "expected a recording, as --record and the key r write them"

CUT, DAMAGED, WRITTEN = "cut off", "damaged", "being written"


class Text(NamedTuple):
    """The text of a file, as far as it goes."""

    data: bytes
    lack: str = ""
    """Why there may be more, or other, than the file has: `CUT`, `DAMAGED`, `WRITTEN` or nothing.

    `CUT` and `DAMAGED` are for compressed text alone: a plain one shows it by its lines.
    """


def read_text(path: Path, expected: str = EXPECTED, most: int | None = None) -> Text:
    """Read a file, and decompress it if its content is compressed, whatever its name.

    Of a compressed one that breaks off, or is damaged, what can be decompressed is returned.

    Args:
        path: the file.
        expected: how errors end.
        most: bytes that the text may have; None for a share of the memory that is available.

    Raises:
        ValueError: one line: it cannot be read, nothing can be had of it, or it holds more than the machine
            can take.
    """
    most = memory_now().available // SHARE if most is None else most
    try:
        if path.is_dir():
            raise ValueError(f'"{path}" is a folder: {expected}')
        with path.open("rb") as file:
            written = is_locked(file.fileno())
            data = file.read(most + 1)
    except OSError as error:
        raise ValueError(f'"{path}": {error.strerror or error}: {expected}') from None
    text = decompress(data, most + 1) if data.startswith(GZIP) else Text(data)
    if text.lack and not text.data:
        raise ValueError(f'"{path}" is {text.lack}: nothing of it can be decompressed: {expected}')
    if len(text.data) > most:
        raise ValueError(
            f'"{path}" holds more than {format_bytes(most)} of text, a share of 1/{SHARE} of the memory '
            f"available here: {expected}"
        )
    return text._replace(lack=WRITTEN) if written else text


def read_beginning(path: Path) -> bytes:
    """Return the first `PIECE` bytes of a file's text at most, decompressed if need be.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(PIECE)
    return decompress(data, PIECE).data if data.startswith(GZIP) else data


def decompress(data: bytes, most: int) -> Text:
    """Return what can be had of gzip ``data``, which may have several members: ``most`` bytes at most."""
    parts: list[bytes] = []
    start, left, step = 0, most, PIECE // 16
    member = zlib.decompressobj(wbits=31)
    # Piece by piece, so that little can become much only up to what was asked for.
    while start < len(data) and left > 0:
        if member.eof:
            if not data.startswith(GZIP, start):
                break  # what follows the last member is not of it
            member = zlib.decompressobj(wbits=31)
        before = member.copy()
        piece = data[start : start + step]
        try:
            part = member.decompress(piece, min(left, PIECE))
        except zlib.error:
            # Nothing of a damaged piece is decompressed: what stands before the damage comes in smaller ones.
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
