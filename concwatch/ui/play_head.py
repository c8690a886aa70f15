"""Where a recording is being played, and how fast; the time is passed in."""

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0)
"""Seconds of the recording a second."""


class PlayHead:
    """A moment that moves over a recording of ``duration`` seconds while it is played.

    ``now`` is the time in seconds, of a clock that never goes back; what is recorded is never touched.
    """

    def __init__(self, duration: float, speed: float = 1.0) -> None:
        """Stand at the beginning; play at ``speed``, which may be one that is not of `SPEEDS`."""
        self.duration = duration
        self.speed = speed
        self._at = 0.0
        self._since: float | None = None
        self._goes_on = False

    @property
    def playing(self) -> bool:
        """Whether it moves, or will when it is let go."""
        return self._since is not None or self._goes_on

    def at(self, now: float) -> float:
        """Return the moment at ``now``, in seconds since the recording's beginning; at its end it pauses."""
        if self._since is not None:
            self._at += max(0.0, now - self._since) * self.speed
            self._since = now
        if self._at >= self.duration:
            self._at, self._since = self.duration, None
        return self._at

    def play(self, now: float) -> None:
        """Begin to move; from the beginning when it stands at the end."""
        if self.at(now) >= self.duration:
            self._at = 0.0
        self._since, self._goes_on = now, False

    def pause(self, now: float) -> None:
        """Stand still."""
        self.at(now)
        self._since, self._goes_on = None, False

    def jump(self, moment: float, now: float) -> None:
        """Go to a moment, or to the end that is nearest; one that moves goes on from there."""
        self.at(now)
        self._at = min(max(0.0, moment), self.duration)

    def hold(self, moment: float, now: float) -> None:
        """Take it to a moment and keep it there until `drop`."""
        goes_on = self.playing
        self.pause(now)
        self.jump(moment, now)
        self._goes_on = goes_on

    def drop(self, moment: float, now: float) -> None:
        """Go to a moment; one that moved before it was held goes on from there."""
        self.jump(moment, now)
        if self._goes_on:
            self._since, self._goes_on = now, False

    def change_speed(self, step: int, now: float) -> None:
        """Take the next of `SPEEDS`: a faster one for 1, a slower one for -1."""
        self.at(now)
        others = [speed for speed in SPEEDS if (speed - self.speed) * step > 0]
        if others:
            self.speed = min(others) if step > 0 else max(others)
