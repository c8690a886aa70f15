"""JSON by the interpreter's own C functions: the ``json`` package brings 1.3 MB of ``re`` and ``enum``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

LONGEST_LINE = 1 << 20
"""Bytes: a longer line is refused."""


class _Context:
    """What `json.decoder.JSONDecoder` would tell the scanner."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not of JSON")


def _codecs() -> Tuple[Callable[[object], str], Callable[[str], Any]]:
    """Return what writes a value as JSON, and what reads one; both raise ValueError or TypeError."""
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner

        encoder = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
        scan: Any = make_scanner(_Context())  # type: ignore[arg-type]  # anything with these attributes
        sample = {"a": [1, "b", None]}
        if scan("".join(encoder(sample, 0)), 0) == (sample, 18):
            return lambda value: "".join(encoder(value, 0)), lambda text: scan(text, 0)[0]
    except Exception:  # private functions: another Python may have them otherwise, or not at all
        pass
    import json

    return lambda value: json.dumps(value, separators=(",", ":"), allow_nan=False), json.loads


_write, _read = _codecs()


def encode(type_: str, fields: Dict[str, Any]) -> bytes:
    """Write one report as a line, its end included; half a surrogate pair comes as its escape."""
    return (_write({"type": type_, **fields}) + "\n").encode("ascii")


def decode(line: bytes) -> Dict[str, Any]:
    """Read one command, an object with a string under ``"type"``.

    Raises:
        ValueError: it is not one; the message is for a person.
    """
    try:
        fields = _read(line.decode().strip())
    except (
        ValueError,
        StopIteration,
        RecursionError,
    ):  # the second: it ends too early
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        shown = line[:60].decode(errors="replace").strip()
        raise ValueError(f'not a command: {shown!r}: expected one JSON object such as {{"type":"detach"}}')
    return fields
