"""Numbers as a person reads and types them: bytes, counts, rates, durations."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from concwatch.text import one_line

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
# A comma only groups digits in threes: "1,5" is not to be read as fifteen.
_NUMBER = re.compile(
    r"(?P<number>(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-z\u00b5\u03bc%/]*)", re.ASCII
)

UNKNOWN = "–"
"""What stands for a number that is not known, or not finite."""

LARGEST_COUNT = 1_000_000_000
LARGEST_SIZE = 1 << 60
LONGEST_NUMBER = 40
"""Letters: a longer text is no number that anybody means."""


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits, out of some file
        return False


def _three_digits(value: float) -> str:
    """Write ``value`` (below 1,024) with three significant digits, without trailing zeros behind a point."""
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _scaled(value: float, base: int, prefixes: tuple[str, ...]) -> tuple[str, str]:
    """Split ``value`` into three significant digits and the prefix they count."""
    power = 0
    while abs(value) >= base - 0.5 and power < len(prefixes) - 1:
        value /= base
        power += 1
    return _three_digits(value), prefixes[power]


def format_bytes(size: float) -> str:
    """Write a size in bytes with a binary prefix: ``29.5 MiB``; a negative one keeps its sign."""
    if not _finite(size):
        return UNKNOWN
    number, prefix = _scaled(round(size) if abs(size) < 1024 else size, 1024, BINARY_PREFIXES)
    return f"{number} {prefix}"


def format_figure(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, grouped in threes: ``0.4113``, ``5,167``."""
    if not _finite(value):
        return UNKNOWN
    rounded = f"{value:.{digits - 1}e}"
    number, power = float(rounded), int(rounded.partition("e")[2])
    if not number:
        return "0"
    return f"{number:,.{max(0, digits - 1 - power)}f}"


def format_exactly(value: float) -> str:
    """Write a number as it is, grouped in threes, a whole one without a point: ``5,166.721``."""
    if not _finite(value):
        return UNKNOWN
    return f"{int(value) if value == int(value) else value:,}"


def counted(count: int, noun: str) -> str:
    """Write how many of something there are: ``1 line``, ``2,000 lines``."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def format_count(count: float) -> str:
    """Write a count exactly, grouped in threes: ``10,000``."""
    return f"{round(count):,}" if _finite(count) else UNKNOWN


def format_short(count: float) -> str:
    """Write a count in three significant digits: ``10 k``, ``1.25 M``."""
    if not _finite(count):
        return UNKNOWN
    number, prefix = _scaled(count, 1000, DECIMAL_PREFIXES)
    return f"{number} {prefix}".rstrip()


def format_rate(per_second: float) -> str:
    """Write a number of things per second: ``40 k/s``."""
    return f"{format_short(per_second)}/s" if _finite(per_second) else UNKNOWN


def format_seconds(seconds: float) -> str:
    """Write a duration with the unit that fits it: ``80 µs``, ``2.4 s``, ``1 min 42 s``, ``2 h 05 min``."""
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
    """Write a forecast of time no finer than it is: ``about 20 s``, ``a few seconds``."""
    if seconds < 8:
        return "a few seconds"
    if seconds < 90:
        return f"about {math.ceil(seconds / 5) * 5} s"
    minutes = math.ceil(seconds / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60:02} min"


def format_clock(seconds: float) -> str:
    """Write a time since the start as ``HH:MM:SS``."""
    if not _finite(seconds):
        return UNKNOWN
    minutes, rest = divmod(max(0, math.floor(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest:02}"


def format_percent(share: float) -> str:
    """Write a share (1.0 is all) as a percentage: ``4.2 %``."""
    if not _finite(share):
        return UNKNOWN
    return f"{_three_digits(share * 100)} %" if abs(share) < 10 else f"{share * 100:,.0f} %"


def _read(text: str, factors: Mapping[str, int | Decimal]) -> Decimal | None:
    """Read a number and its unit; None where either is none."""
    found = _NUMBER.fullmatch(text.strip().lower()) if len(text) <= LONGEST_NUMBER else None
    if found is None or found["unit"] not in factors:
        return None
    return Decimal(found["number"].replace(",", "").replace("_", "")) * factors[found["unit"]]


def _refusal(text: str, expected: str) -> ValueError:
    return ValueError(f'"{one_line(text[:LONGEST_NUMBER])}" is {expected}')


def parse_size(text: str, whole: int | None = None) -> int:
    """Read a size in bytes: ``2GiB``, ``500MB``, ``1048576``, or ``60%`` of ``whole``.

    ``KiB`` and a bare ``K`` count 1,024 bytes, ``KB`` counts 1,000.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    size = _read(text, _SIZE_FACTORS)
    if size is not None and 1 <= size <= LARGEST_SIZE:
        return int(size)
    share = _read(text, {"%": 1}) if whole is not None else None
    if share is not None and whole is not None and 0 < share <= 100:
        return int(whole * share / 100)
    percent = ' or "60%"' if whole is not None else ""
    expected = f'expected a positive number of bytes such as "2GiB", "500MB"{percent}'
    raise _refusal(text, f"not a size: {expected}")


def parse_count(text: str, largest: int = LARGEST_COUNT) -> int:
    """Read a number of tasks: ``10000``, ``10,000``, ``10k``, ``1.5M``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    count = _read(text, _COUNT_FACTORS)
    if count is None or count != count.to_integral_value():
        expected = f'expected a whole number from 0 to {largest:,}, such as "10,000", "10k" or "1M"'
        raise _refusal(text, f"not a number of tasks: {expected}")
    if count > largest:
        raise _refusal(text, f"too many: expected at most {largest:,}")
    return int(count)


def _parse(text: str, factors: Mapping[str, int | Decimal], largest: int, expected: str) -> float:
    value = _read(text, factors)
    if value is None or value > largest:
        raise _refusal(text, f"not {expected}")
    return float(value)


def parse_bytes(text: str) -> float:
    """Read so many bytes, of which there may be none, or a fraction: ``2KiB``, ``1.5MB``, ``0``, ``800.5``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    expected = 'a size: expected bytes from 0, such as "2KiB", "1.5MB" or "800"'
    return _parse(text, _SIZE_FACTORS, LARGEST_SIZE, expected)


def parse_seconds(text: str) -> float:
    """Read a duration in seconds: ``200ms``, ``80 µs``, ``1.5s``, ``2 min``, ``0.2``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    expected = 'a time: expected seconds from 0, such as "200ms", "1.5s" or "2min"'
    return _parse(text, _SECOND_FACTORS, LARGEST_COUNT, expected)


def parse_rate(text: str) -> float:
    """Read so many a second: ``50k``, ``50 k/s``, ``1.5M/s``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    expected = 'a rate: expected a number a second from 0, such as "50k" or "50k/s"'
    return _parse(text, _RATE_FACTORS, LARGEST_COUNT, expected)
