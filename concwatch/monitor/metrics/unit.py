"""The units of metrics: how their values are parsed, formatted, and placed on an axis."""

import math
from collections.abc import Callable

from msgspec import Struct, structs

from concwatch.portable.protocol.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_number,
    format_percent,
    format_rate,
    format_seconds,
    format_short,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)


def _parse_number(text: str) -> float:
    number = text.strip().removesuffix("%")
    if not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError(f'"{text[:40]}"; expected a number such as "2.5" or a percentage such as "5%"')
    return float(number) / (100 if text.strip().endswith("%") else 1)


def _parse_share(text: str) -> float:
    share = _parse_number(text)
    if share and not text.strip().endswith("%"):  # 5 and 0.05 might both mean 5 %
        raise ValueError(f'"{text[:40]}" has no unit; expected a percentage such as "5%"')
    return share


class Unit(Struct, frozen=True):
    """The unit of a metric: how its values are written, and which of them are round on an axis."""

    name: str
    """What the value counts, such as "bytes"."""
    parse: Callable[[str], float]
    format: Callable[[float], str]
    example: str
    """Values that `parse` accepts, for help."""
    short: Callable[[float], str]
    """Formats a value in a chart and on its axis."""
    base: int = 1000
    """The factor from one prefix to the next: 1,024 or 1,000."""
    smallest: float = 1
    """The smallest tick step, and the lowest value of a logarithmic axis."""
    least_range: float = 10
    """The minimum range of a linear axis, so that noise around zero looks small."""
    largest: float = 1e15
    """The highest value drawn; higher ones are drawn at the top edge."""
    one: float = 1.0
    """The value that is formatted as 1 without a prefix."""

    def text(self, value: float | None) -> str:
        """Return a value as text; a dash for None and for values that are not finite."""
        return UNKNOWN if value is None or not math.isfinite(value) else self.format(value)


def _format_ratio(ratio: float) -> str:
    return f"{format_number(ratio, 2)} ×"


def _format_decimal(size: float) -> str:
    text = format_short(size)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"


BYTES = Unit(
    "bytes", parse_bytes, format_bytes, "2KiB, 1.5MB, 800", format_bytes, 1024, least_range=64 * 1024
)
RATE = Unit("tasks a second", parse_rate, format_rate, "50k/s, 1.5M, 800", format_rate, smallest=0.1)
SECONDS = Unit(
    "seconds", parse_seconds, format_seconds, "200ms, 1.5s, 0.2", format_seconds,
    smallest=1e-6, least_range=0.005, largest=1e5, one=1e-6,
)  # fmt: skip
COUNT = Unit("tasks", parse_count, format_count, "10k, 10,000, 0", format_short)
SWITCHES = structs.replace(RATE, name="switches a second")
SHARE = Unit(
    "share", _parse_share, format_percent, "5%", format_percent,
    smallest=0.001, least_range=0.1, largest=100, one=0.01,
)  # fmt: skip
RATIO = Unit("times", _parse_number, _format_ratio, "2.5", _format_ratio)

UNITS = (BYTES, RATE, SECONDS, COUNT, SWITCHES, SHARE, RATIO)
"""All units of metrics."""

DECIMAL_BYTES = structs.replace(BYTES, short=_format_decimal, base=1000, least_range=64_000)
"""Bytes with decimal prefixes, on the axis of a table that was published in such units."""

SCALES: dict[str, tuple[Unit, float]] = {
    "B": (BYTES, 1.0),
    "KiB": (BYTES, 1024.0),
    "MiB": (BYTES, 1024.0**2),
    "GiB": (BYTES, 1024.0**3),
    "kB": (BYTES, 1e3),
    "MB": (BYTES, 1e6),
    "GB": (BYTES, 1e9),
    "s": (SECONDS, 1.0),
    "ms": (SECONDS, 1e-3),
    "tasks/s": (RATE, 1.0),
    "tasks": (COUNT, 1.0),
    "switches/s": (SWITCHES, 1.0),
    "%": (SHARE, 0.01),
}
"""Unit of a published table → our unit, and the factor that converts to it."""
