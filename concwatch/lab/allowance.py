"""How much one worker may add to the event log."""

AT_ONCE = 30
A_SECOND = 3.0
"""Events: so many at once, then so many a second. A person at the slider causes fewer."""

SUMMARY = 10.0
"""Seconds between two summaries of what was not told."""


class Allowance:
    """Some at once, then so much a second; what is more is counted. Time is passed in, in seconds."""

    def __init__(self, now: float) -> None:
        self._left = float(AT_ONCE)
        self._at = now
        self._refused = 0
        self._summary_due = now

    def take(self, now: float) -> bool:
        """Use up one, if there is one."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * A_SECOND)
        self._at = now
        if self._left < 1:
            self._refused += 1
            return False
        self._left -= 1
        return True

    def refused(self, now: float) -> int:
        """Give how many were refused since the last time that this gave any; `SUMMARY` seconds apart."""
        if not self._refused or now < self._summary_due:
            return 0
        refused, self._refused, self._summary_due = self._refused, 0, now + SUMMARY
        return refused
