"""The text of a recording, plain or compressed, as far as it goes."""

import zlib
from pathlib import Path

GZIP = b"\x1f\x8b"
"""What a gzip file begins with."""

PIECE = 1 << 20
"""Bytes decompressed at once."""

EXPECTED = "expected a recording, as --record and the key r write them"


def read_text(path: Path, expected: str = EXPECTED) -> bytes:
    """Read a file, and decompress it if its content says that it is compressed, whatever its name says.

    A compressed one that breaks off, or is damaged, gives what can be had of it.
    Errors end with ``expected``.

    Raises:
        ValueError: one line: it cannot be read.
    """
    try:
        if path.is_dir():
            raise ValueError(f'"{path}" is a folder: {expected}')
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f'"{path}": {error.strerror or error}: {expected}') from None
    return decompress(data) if data.startswith(GZIP) else data


def read_beginning(path: Path) -> bytes:
    """Give the first `PIECE` bytes of a file at most, decompressed if need be.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(PIECE)
    return decompress(data) if data.startswith(GZIP) else data


def decompress(data: bytes) -> bytes:
    """Give what can be had of gzip ``data``, which may have several members."""
    parts = []
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            # Piece by piece, so that what stands before damage is not lost with it.
            for start in range(0, len(data), PIECE):
                parts.append(member.decompress(data[start : start + PIECE]))
                if member.eof:
                    data = member.unused_data + data[start + PIECE :]
                    break
            else:
                break
        except zlib.error:
            break
    return b"".join(parts)
