"""JSON through the interpreter's C functions: importing ``json`` would load 1.3 MB of ``re`` and ``enum``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

MAX_LINE = 1 << 20
"""Bytes of the longest report."""


class _Context:
    """The attributes of `json.decoder.JSONDecoder` that the scanner reads."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def _codecs() -> Tuple[Callable[[object], str], Callable[[str], Any]]:
    """Return functions that encode a value and decode a text; both raise ValueError or TypeError."""
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner

        encoder = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
        scan: Any = make_scanner(_Context())  # type: ignore[arg-type]  # anything with these attributes
        sample = {"a": [1, "b", None]}
        if scan("".join(encoder(sample, 0)), 0) == (sample, 18):
            return lambda value: "".join(encoder(value, 0)), lambda text: scan(text, 0)[0]
    except Exception:  # another Python may lack these private functions
        pass
    import json

    return lambda value: json.dumps(value, separators=(",", ":"), allow_nan=False), json.loads


_encode, _decode = _codecs()


def encode(type_: str, fields: Dict[str, Any]) -> bytes:
    """Return a report as a line with its newline. Lone surrogates are escaped."""
    return (_encode({"type": type_, **fields}) + "\n").encode("ascii")


def decode(line: bytes) -> Dict[str, Any]:
    """Parse a command, an object with a string under ``"type"``.

    Raises:
        ValueError: it is not a command; the message can be shown to the user.
    """
    try:
        fields = _decode(line.decode().strip())
    except (ValueError, StopIteration, RecursionError):  # StopIteration: the text is incomplete
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        shown = line[:60].decode(errors="replace").strip()
        raise ValueError(f'not a command: {shown!r}: expected one JSON object such as {{"type":"detach"}}')
    return fields
