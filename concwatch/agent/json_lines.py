"""JSON by the interpreter's own C functions: the ``json`` package brings 1.3 MB of ``re`` and ``enum``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

LONGEST_LINE = 1 << 20
"""Bytes: a longer line is refused."""


class _Context:
    """What `json.decoder.JSONDecoder` would tell the scanner."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not of JSON")


def _text() -> Callable[[object], str]:
    try:
        from _json import encode_basestring_ascii, make_encoder

        encoder = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
        if "".join(encoder({"a": [1, "b", None]}, 0)) == '{"a":[1,"b",null]}':
            return lambda value: "".join(encoder(value, 0))
    except Exception:  # private functions: another Python may have them otherwise, or not at all
        pass
    import json

    return lambda value: json.dumps(value, separators=(",", ":"), allow_nan=False)


def _value() -> Callable[[str], Any]:
    try:
        from _json import make_scanner

        scan: Any = make_scanner(_Context())  # type: ignore[arg-type]  # anything with these attributes
        if scan('{"a":[1,"b",null]}', 0) == ({"a": [1, "b", None]}, 18):
            return lambda text: scan(text, 0)[0]
    except Exception:
        pass
    import json

    return json.loads


to_text = _text()
"""Write a value as JSON; ValueError or TypeError for what JSON cannot say."""

_read = _value()


def encode(type_: str, fields: Dict[str, Any]) -> bytes:
    """Write one report as a line, its end included; half a surrogate pair comes as its escape."""
    return (to_text({"type": type_, **fields}) + "\n").encode("ascii")


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
    ):  # the scanner's word for an early end is StopIteration
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
        shown = line[:60].decode(errors="replace").strip()
        raise ValueError(
            f'not a command: {shown!r}: expected one flat JSON object such as {{"type":"detach"}}'
        )
    return fields
