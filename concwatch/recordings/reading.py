"""The text of a recording, plain or compressed, as far as it goes."""

import zlib
from pathlib import Path

from concwatch.lab.limits import memory_now
from concwatch.units import format_bytes

GZIP = b"\x1f\x8b"
"""What a gzip file begins with."""

PIECE = 1 << 20
"""Bytes that a look at a file's beginning takes, and that are decompressed at once."""

SHARE = 16
"""The available memory over what a file's text may take: what is made of it may take so much more."""

EXPECTED = "expected a recording, as --record and the key r write them"


def read_text(path: Path, expected: str = EXPECTED, most: int | None = None) -> bytes:
    """Read a file, and decompress it if its content says that it is compressed, whatever its name says.

    A compressed one that breaks off, or is damaged, gives what can be had of it.

    Args:
        path: the file.
        expected: how errors end.
        most: bytes that the text may have; None for a share of the memory that is available.

    Raises:
        ValueError: one line: it cannot be read, or holds more than the machine can take.
    """
    most = memory_now().available // SHARE if most is None else most
    try:
        if path.is_dir():
            raise ValueError(f'"{path}" is a folder: {expected}')
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ValueError(f'"{path}": {error.strerror or error}: {expected}') from None
    text = decompress(data, most + 1) if data.startswith(GZIP) else data
    if len(text) > most:
        raise ValueError(
            f'"{path}" holds more than {format_bytes(most)} of text, a share of 1/{SHARE} of the memory '
            f"available here: {expected}"
        )
    return text


def read_beginning(path: Path) -> bytes:
    """Give the first `PIECE` bytes of a file's text at most, decompressed if need be.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(PIECE)
    return decompress(data, PIECE) if data.startswith(GZIP) else data


def decompress(data: bytes, most: int) -> bytes:
    """Give what can be had of gzip ``data``, which may have several members: ``most`` bytes at most."""
    parts: list[bytes] = []
    start, left = 0, most
    member = zlib.decompressobj(wbits=31)
    try:
        # Piece by piece, so that what stands before damage is not lost with it, and little can become much
        # only up to what was asked for.
        while start < len(data) and left > 0:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            piece = data[start : start + PIECE // 16]
            part = member.decompress(piece, min(left, PIECE))
            start += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
            left -= len(part)
            parts.append(part)
        parts.append(member.flush()[:left])
    except zlib.error:
        pass
    return b"".join(parts)
