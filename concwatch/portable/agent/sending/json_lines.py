"""The codec of both protocols, the wire's and the agent's: JSON, one object per line.

It uses the interpreter's own C functions: importing ``json`` would load 1.3 MB of ``re`` and ``enum`` into
each worker, and into each program that is watched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Tuple

LONGEST_LINE = 1 << 20
"""Bytes of the longest message."""

_SPACE = " \t\r\n"
_MOST_DIGITS = 40


def _integer(digits: str) -> int:
    """Parse a JSON integer; `int` would use a logarithm: 192 KiB of the C library's tables."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits; expected {_MOST_DIGITS} at most")
    number = 0
    for digit in digits.lstrip("-"):
        number = 10 * number + ord(digit) - 48
    return -number if digits[0] == "-" else number


def _refuse(value: object) -> Any:
    raise ValueError(f"{value!r} is not JSON")


class _Context:
    """The attributes of `json.decoder.JSONDecoder` that the scanner reads."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, staticmethod(_integer), staticmethod(_refuse)

    def __init__(self) -> None:
        self.memo: Dict[str, str] = {}


def _codecs() -> Tuple[Callable[[object], str], Callable[[str], Any]]:
    """Return functions that encode a value and decode a text; both raise ValueError or TypeError."""
    try:
        from _json import encode_basestring, make_encoder, make_scanner

        encoder = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)
        scan: Any = make_scanner(_Context())  # type: ignore[arg-type]  # anything with these attributes
        sample = {"a": [1, "b", None]}
        if scan("".join(encoder(sample, 0)), 0) == (sample, 18):

            def decode_text(text: str) -> Any:
                value, end = scan(text, 0)
                return value if end == len(text) else None

            return lambda value: "".join(encoder(value, 0)), decode_text
    # Another Python may lack these private functions, or have other ones.
    except (ImportError, TypeError, ValueError, AttributeError, StopIteration):
        pass
    import json

    return (
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False),
        lambda text: json.loads(text, parse_int=_integer, parse_constant=_refuse),
    )


_encode, _decode = _codecs()


def encode(type_: str, **fields: Any) -> bytes:
    """Encode one message as a line, including the newline. A lone surrogate becomes ``?``.

    Args:
        type_: the message's type.
        fields: strings, finite numbers, booleans, None, and lists, tuples and dictionaries of these.
    """
    return (_encode({"type": type_, **fields}) + "\n").encode(errors="replace")


def decode(line: bytes) -> Dict[str, Any]:
    """Decode a command, a flat object with a string under ``"type"``.

    Raises:
        ValueError: it is not one; the message is for the user.
    """
    try:
        text = line.decode()
        fields = _decode(text.strip(_SPACE))
    # StopIteration: it is truncated. SystemError: up to Python 3.12 the functions in C raise nothing at an
    # error whose class is in a module that is not loaded.
    except (ValueError, StopIteration, RecursionError, SystemError):
        text, fields = "", None
    if (
        not isinstance(fields, dict)
        or not isinstance(fields.get("type"), str)
        or any(isinstance(value, (list, dict)) for value in fields.values())
    ):
        shown = line[:60].decode(errors="replace").strip()
        raise ValueError(
            f'{shown!r} is not a command; expected one flat JSON object such as {{"type":"stop"}}'
        )
    if "\\u" in text:
        fields = {_whole(key): _whole(value) for key, value in fields.items()}
    return fields


def _whole(value: Any) -> Any:
    """Replace each lone surrogate, which an escape can produce, in a string."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
