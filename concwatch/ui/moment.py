"""Moments of a recording, as a person reads and types them."""

import re

from concwatch.recordings.format import format_position
from concwatch.text import one_line
from concwatch.units import parse_seconds

_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:\.\d*)?)", re.ASCII)
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{0,9})?)\s*%", re.ASCII)

EXPECTED = 'expected one such as "1:23", "83.5s" or "50%"'


def format_moment(seconds: float, duration: float) -> str:
    """Write a moment of a recording that lasts ``duration`` seconds, to the tenth: ``01:23.5``.

    All moments of one recording take the same number of cells, so that nothing jumps while it is played.
    """
    a_hair = 1e-6  # seconds, for ten steps of 0.1 s do not add up to 1
    return format_position(seconds + a_hair).rjust(len(format_position(duration + a_hair)))


def read_moment(text: str, duration: float) -> float:
    """Read a moment: ``1:23``, ``1:02:03.5``, ``83.5s``, ``2 min``, ``50%`` of the ``duration`` in seconds.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    text = text.strip()
    seconds = _seconds(text, duration)
    if seconds > duration:
        end = format_position(duration)
        raise ValueError(f'"{one_line(text[:40])}" is behind the end: expected a moment from 0:00 to {end}')
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
