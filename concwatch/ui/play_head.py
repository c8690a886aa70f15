"""The play head of a recording: position and speed."""

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0)
"""Selectable speeds: seconds of the recording per second."""


class PlayHead:
    """A position in a recording of ``duration`` seconds, which advances while playing.

    ``now`` is the current time in seconds of a monotonic clock.
    """

    def __init__(self, duration: float, speed: float = 1.0) -> None:
        """Create a paused play head at the beginning; ``speed`` need not be one of `SPEEDS`."""
        self.duration = duration
        self.speed = speed
        self._at = 0.0
        self._since: float | None = None
        self._resume = False

    @property
    def playing(self) -> bool:
        """Whether it is playing, or will be when it is dropped."""
        return self._since is not None or self._resume

    def at(self, now: float) -> float:
        """Return the position in seconds; at the end of the recording it pauses."""
        if self._since is not None:
            self._at += max(0.0, now - self._since) * self.speed
            self._since = now
        if self._at >= self.duration:
            self._at, self._since = self.duration, None
        return self._at

    def play(self, now: float) -> None:
        """Start playing; at the end, from the beginning."""
        if self.at(now) >= self.duration:
            self._at = 0.0
        self._since, self._resume = now, False

    def pause(self, now: float) -> None:
        """Stop playing."""
        self.at(now)
        self._since, self._resume = None, False

    def jump(self, moment: float, now: float) -> None:
        """Move to a moment, clamped to the recording, and keep playing or pausing."""
        self.at(now)
        self._at = min(max(0.0, moment), self.duration)

    def hold(self, moment: float, now: float) -> None:
        """Move to a moment and stay there until `drop`."""
        playing = self.playing
        self.pause(now)
        self.jump(moment, now)
        self._resume = playing

    def drop(self, moment: float, now: float) -> None:
        """Move to a moment, and resume playing if it was playing before `hold`."""
        self.jump(moment, now)
        if self._resume:
            self._since, self._resume = now, False

    def change_speed(self, step: int, now: float) -> None:
        """Select the next faster (1) or slower (-1) of `SPEEDS`."""
        self.at(now)
        others = [speed for speed in SPEEDS if (speed - self.speed) * step > 0]
        if others:
            self.speed = min(others) if step > 0 else max(others)
