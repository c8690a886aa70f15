"""The units of figures, and how their values are parsed and formatted."""

import math
from collections.abc import Callable

from msgspec import Struct

from concwatch.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_figure,
    format_percent,
    format_rate,
    format_seconds,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)


def _parse_number(text: str) -> float:
    number = text.strip().removesuffix("%")
    if not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError(f'"{text[:40]}": expected a number such as "2.5" or a percentage such as "5%"')
    return float(number) / (100 if text.strip().endswith("%") else 1)


def _parse_share(text: str) -> float:
    share = _parse_number(text)
    if share and not text.strip().endswith("%"):  # 5 and 0.05 might both mean 5 %
        raise ValueError(f'"{text[:40]}" has no unit: expected a percentage such as "5%"')
    return share


class Unit(Struct, frozen=True):
    """The unit of a figure."""

    name: str
    """What the value counts, such as "bytes"."""
    parse: Callable[[str], float]
    format: Callable[[float], str]
    example: str
    """Values that `parse` accepts, for help."""

    def text(self, value: float | None) -> str:
        """Return a value as text; a dash for None and for values that are not finite."""
        return UNKNOWN if value is None or not math.isfinite(value) else self.format(value)


BYTES = Unit("bytes", parse_bytes, format_bytes, "2KiB, 1.5MB, 800")
RATE = Unit("tasks a second", parse_rate, format_rate, "50k/s, 1.5M, 800")
SECONDS = Unit("seconds", parse_seconds, format_seconds, "200ms, 1.5s, 0.2")
COUNT = Unit("tasks", parse_count, format_count, "10k, 10,000, 0")
SHARE = Unit("share", _parse_share, format_percent, "5%")
RATIO = Unit("times", _parse_number, lambda ratio: f"{format_figure(ratio, 2)} ×", "2.5")

KINDS = (BYTES, RATE, SECONDS, COUNT, SHARE, RATIO)
"""All units."""

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
    "%": (SHARE, 0.01),
}
"""Unit of a published table → our unit, and the factor that converts to it."""
