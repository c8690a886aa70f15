"""Formatting and parsing of numbers: bytes, counts, rates, durations."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from concwatch.portable.protocol.text import one_line

BINARY_PREFIXES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
DECIMAL_PREFIXES = ("", "k", "M", "G", "T")

_SIZE_FACTORS = {
    "": 1,
    "b": 1,
    **{f"{letter}{rest}": 1024**power for power, letter in enumerate("kmgtp", 1) for rest in ("", "ib")},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", 1)},
}
_COUNT_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_RATE_FACTORS = {f"{unit}{per}": factor for unit, factor in _COUNT_FACTORS.items() for per in ("", "/s")}
_MICRO = ("us", "\u00b5s", "\u03bcs")  # with the micro sign, and with the Greek letter
_SECOND_FACTORS = {
    **dict.fromkeys(_MICRO, Decimal("0.000001")),
    "ms": Decimal("0.001"),
    "": Decimal(1),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3_600),
}
# A comma is only allowed between groups of three digits: "1,5" does not mean fifteen.
_NUMBER = r"(?P<number>(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-z\u00b5\u03bc%/]*)"

UNKNOWN = "–"
"""Shown in place of a number that is not known or not finite."""

LARGEST_COUNT = 1_000_000_000
LARGEST_SIZE = 1 << 60
LONGEST_NUMBER = 40
"""The maximum number of characters of a number."""


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits, from a file
        return False


def _three_digits(value: float) -> str:
    """Format ``value`` (below 1,024) with three significant digits, without trailing zeros."""
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _scaled(value: float, base: int, prefixes: tuple[str, ...]) -> tuple[str, str]:
    power = 0
    while abs(value) >= base - 0.5 and power < len(prefixes) - 1:
        value /= base
        power += 1
    return _three_digits(value), prefixes[power]


def format_bytes(size: float) -> str:
    """Format a size in bytes with a binary prefix: ``29.5 MiB``."""
    if not _finite(size):
        return UNKNOWN
    number, prefix = _scaled(round(size) if abs(size) < 1024 else size, 1024, BINARY_PREFIXES)
    return f"{number} {prefix}"


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits and thousands separators: ``0.4113``, ``5,167``."""
    if not _finite(value):
        return UNKNOWN
    rounded = f"{value:.{digits - 1}e}"
    number, power = float(rounded), int(rounded.partition("e")[2])
    if not number:
        return "0"
    return f"{number:,.{max(0, digits - 1 - power)}f}"


def format_exactly(value: float) -> str:
    """Format a number in full, with thousands separators: ``5,166.721``, ``32``."""
    if not _finite(value):
        return UNKNOWN
    return f"{int(value) if value == int(value) else value:,}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 line``, ``2,000 lines``."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def format_count(count: float) -> str:
    """Format a count in full, with thousands separators: ``10,000``."""
    return f"{round(count):,}" if _finite(count) else UNKNOWN


def format_short(count: float) -> str:
    """Format a count with three significant digits: ``10 k``, ``1.25 M``."""
    if not _finite(count):
        return UNKNOWN
    number, prefix = _scaled(count, 1000, DECIMAL_PREFIXES)
    return f"{number} {prefix}".rstrip()


def format_rate(per_second: float) -> str:
    """Format a rate per second: ``40 k/s``."""
    return f"{format_short(per_second)}/s" if _finite(per_second) else UNKNOWN


def format_seconds(seconds: float) -> str:
    """Format a duration: ``80 µs``, ``2.4 s``, ``1 min 42 s``, ``2 h 05 min``."""
    if not _finite(seconds):
        return UNKNOWN
    if seconds < 0:
        return f"-{format_seconds(-seconds)}" if seconds <= -0.0000005 else "0 s"
    if seconds < 0.0000005:
        return "0 s"
    if seconds < 0.0009995:
        return f"{_three_digits(seconds * 1e6)} µs"
    if seconds < 0.9995:
        return f"{_three_digits(seconds * 1e3)} ms"
    if seconds < 99.95:
        return f"{_three_digits(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min"


def format_forecast(seconds: float) -> str:
    """Format an estimated duration: ``a few seconds``, ``about 20 s``, ``about 3 min``."""
    if seconds < 8:
        return "a few seconds"
    if seconds < 90:
        return f"about {math.ceil(seconds / 5) * 5} s"
    minutes = math.ceil(seconds / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60:02} min"


def format_clock(seconds: float) -> str:
    """Format seconds since the start as ``HH:MM:SS``."""
    if not _finite(seconds):
        return UNKNOWN
    minutes, rest = divmod(max(0, math.floor(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}"


def format_percent(share: float) -> str:
    """Format a fraction of 1.0 as a percentage: ``4.2 %``."""
    if not _finite(share):
        return UNKNOWN
    return f"{_three_digits(share * 100)} %" if abs(share) < 10 else f"{share * 100:,.0f} %"


def _parse_number(text: str, factors: Mapping[str, int | Decimal]) -> Decimal | None:
    """Parse a number with a unit of ``factors``; return None if it is not one."""
    number = text.strip().lower()
    found = re.fullmatch(_NUMBER, number, re.ASCII) if len(text) <= LONGEST_NUMBER else None
    if found is None or found["unit"] not in factors:
        return None
    return Decimal(found["number"].replace(",", "").replace("_", "")) * factors[found["unit"]]


def _error(text: str, expected: str) -> ValueError:
    return ValueError(f'"{one_line(text[:LONGEST_NUMBER])}" is {expected}')


def parse_size(text: str, whole: int | None = None) -> int:
    """Parse a size in bytes: ``2GiB``, ``500MB``, ``1048576``, or ``60%`` of ``whole``.

    ``KiB`` and ``K`` are 1,024 bytes, ``KB`` is 1,000.

    Raises:
        ValueError: names ``text`` and what was expected.
    """
    size = _parse_number(text, _SIZE_FACTORS)
    if size is not None and 1 <= size <= LARGEST_SIZE:
        return int(size)
    share = _parse_number(text, {"%": 1}) if whole is not None else None
    if share is not None and whole is not None and 0 < share <= 100:
        return int(whole * share / 100)
    percent = ' or "60%"' if whole is not None else ""
    expected = f'expected a positive number of bytes such as "2GiB", "500MB"{percent}'
    raise _error(text, f"not a size; {expected}")


def parse_count(text: str, largest: int = LARGEST_COUNT) -> int:
    """Parse a number of tasks: ``10000``, ``10,000``, ``10k``, ``1.5M``.

    Raises:
        ValueError: names ``text`` and what was expected.
    """
    count = _parse_number(text, _COUNT_FACTORS)
    if count is None or count != count.to_integral_value():
        expected = f'expected a whole number from 0 to {largest:,}, such as "10,000", "10k" or "1M"'
        raise _error(text, f"not a number of tasks; {expected}")
    if count > largest:
        raise _error(text, f"too many; expected at most {largest:,}")
    return int(count)


def _parse(text: str, factors: Mapping[str, int | Decimal], largest: int, expected: str) -> float:
    value = _parse_number(text, factors)
    if value is None or value > largest:
        raise _error(text, f"not {expected}")
    return float(value)


def parse_bytes(text: str) -> float:
    """Parse a size in bytes, which may be 0 or a fraction: ``2KiB``, ``1.5MB``, ``0``, ``800.5``.

    Raises:
        ValueError: names ``text`` and what was expected.
    """
    expected = 'a size; expected bytes from 0, such as "2KiB", "1.5MB" or "800"'
    return _parse(text, _SIZE_FACTORS, LARGEST_SIZE, expected)


def parse_seconds(text: str) -> float:
    """Parse a duration in seconds: ``200ms``, ``80 µs``, ``1.5s``, ``2 min``, ``0.2``.

    Raises:
        ValueError: names ``text`` and what was expected.
    """
    expected = 'a time; expected seconds from 0, such as "200ms", "1.5s" or "2min"'
    return _parse(text, _SECOND_FACTORS, LARGEST_COUNT, expected)


def parse_rate(text: str) -> float:
    """Parse a rate: ``50k``, ``50 k/s``, ``1.5M/s``.

    Raises:
        ValueError: names ``text`` and what was expected.
    """
    expected = 'a rate; expected a number per second from 0, such as "50k" or "50k/s"'
    return _parse(text, _RATE_FACTORS, LARGEST_COUNT, expected)
