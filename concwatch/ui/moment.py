"""Format and parse moments of a recording."""

import re

from concwatch.recordings.format import format_position
from concwatch.text import one_line
from concwatch.units import parse_seconds

_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:\.\d*)?)", re.ASCII)
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{0,9})?)\s*%", re.ASCII)

EXPECTED = 'expected one such as "1:23", "83.5s" or "50%"'


def format_moment(seconds: float, duration: float) -> str:
    """Format a moment of a recording of ``duration`` seconds: ``01:23.5``.

    All moments of one recording have the same width.
    """
    epsilon = 1e-6  # seconds: ten steps of 0.1 s do not add up to 1
    return format_position(seconds + epsilon).rjust(len(format_position(duration + epsilon)))


def parse_moment(text: str, duration: float) -> float:
    """Return the seconds of ``1:23``, ``1:02:03.5``, ``83.5s``, ``2 min`` or ``50%`` of ``duration``.

    Raises:
        ValueError: it is not a moment, or after the end.
    """
    text = text.strip()
    seconds = _seconds(text, duration)
    if seconds > duration:
        end = format_position(duration)
        raise ValueError(f'"{one_line(text[:40])}" is after the end: expected a moment from 0:00 to {end}')
    return seconds


def _seconds(text: str, duration: float) -> float:
    if share := _SHARE.fullmatch(text):
        return duration * float(share[1]) / 100
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = int(clock[1] or 0), int(clock[2]), float(clock[3])
        if seconds < 60 and (minutes < 60 or clock[1] is None):
            return hours * 3600 + minutes * 60 + seconds
    else:
        try:
            return parse_seconds(text)
        except ValueError:
            pass
    raise ValueError(f'"{one_line(text[:40])}" is not a moment: {EXPECTED}')
