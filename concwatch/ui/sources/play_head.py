"""The play head of a recording, and how its position is formatted and parsed."""

import re
import time
from collections.abc import Callable

from concwatch.portable.protocol.text import one_line
from concwatch.portable.protocol.units import parse_seconds
from concwatch.recordings.format import format_position

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0)
"""Selectable speeds: seconds of the recording per second."""

_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:\.\d*)?)", re.ASCII)
_SHARE = re.compile(r"(\d{1,9}(?:\.\d{0,9})?)\s*%", re.ASCII)

EXPECTED = 'expected one such as "1:23", "83.5s" or "50%"'


class PlayHead:
    """A position in a recording, which advances while playing."""

    def __init__(
        self, duration: float, speed: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Create a paused play head at the beginning.

        Args:
            duration: the length of the recording in seconds.
            speed: seconds of the recording per second; need not be one of `SPEEDS`.
            clock: returns a monotonic time in seconds.
        """
        self.duration = duration
        self.speed = speed
        self._clock = clock
        self._at = 0.0
        self._since: float | None = None
        self._resume = False

    @property
    def playing(self) -> bool:
        """Whether it is playing, or will be when it is dropped."""
        return self._since is not None or self._resume

    def at(self) -> float:
        """Return the position in seconds; at the end of the recording it pauses."""
        if self._since is not None:
            now = self._clock()
            self._at += max(0.0, now - self._since) * self.speed
            self._since = now
        if self._at >= self.duration:
            self._at, self._since = self.duration, None
        return self._at

    def play(self) -> None:
        """Start playing; at the end, from the beginning."""
        if self.at() >= self.duration:
            self._at = 0.0
        self._since, self._resume = self._clock(), False

    def pause(self) -> None:
        """Stop playing."""
        self.at()
        self._since, self._resume = None, False

    def toggle(self) -> None:
        """Play or pause."""
        if self.playing:
            self.pause()
        else:
            self.play()

    def jump(self, moment: float) -> None:
        """Move to a moment, clamped to the recording, and keep playing or pausing."""
        self.at()
        self._at = min(max(0.0, moment), self.duration)

    def skip(self, seconds: float) -> None:
        """Move by a number of seconds; back if negative."""
        self.jump(self.at() + seconds)

    def hold(self, moment: float) -> None:
        """Move to a moment and stay there until `drop`."""
        playing = self.playing
        self.pause()
        self.jump(moment)
        self._resume = playing

    def drop(self, moment: float) -> None:
        """Move to a moment, and resume playing if it was playing before `hold`."""
        self.jump(moment)
        if self._resume:
            self._since, self._resume = self._clock(), False

    def change_speed(self, step: int) -> None:
        """Select the next faster (1) or slower (-1) of `SPEEDS`."""
        self.at()
        others = [speed for speed in SPEEDS if (speed - self.speed) * step > 0]
        if others:
            self.speed = min(others) if step > 0 else max(others)


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
        raise ValueError(f'"{one_line(text[:40])}" is after the end, which is at {end}')
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
    raise ValueError(f'"{one_line(text[:40])}" is not a time; {EXPECTED}')
