"""What a CPU quota does to processes: for how long it throttles them, and the events that say so."""

from collections import deque

from concwatch.monitor.statistics.rates import Trailing, growth_at
from concwatch.monitor.verdicts.events import Kind, Severity
from concwatch.portable.protocol.units import format_seconds
from concwatch.system.process import Reading

KEPT = 600
"""The most readings of a process that are kept: a minute's, at ten per second."""

LASTING = 5.0
"""Seconds over which the throttled share is averaged that begins or ends throttling."""

THROTTLED = 0.10
"""Share of the time above which throttling by a CPU quota counts: times and rates are marked."""

LITTLE = THROTTLED / 5
"""The share below which throttling has ended."""


def quota_name(cores: float | None) -> str:
    """Return the name of a CPU quota with its size, if that is known."""
    if cores is None:
        return "CPU quota"
    return f"CPU quota ({cores:.3g} {'core' if cores == 1 else 'cores'})"


class ThrottledTime:
    """The seconds for which a CPU quota has throttled a process, as of its last readings."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque(maxlen=KEPT)

    def add(self, time: float, reading: Reading) -> None:
        """Add a reading at ``time``, in seconds; without a quota it is not kept."""
        if reading.cpu_quota is not None and reading.throttled is not None:
            self._recent.append((time, reading.throttled))

    @property
    def share(self) -> float | None:
        """The throttled share of the last second; None until known, and without a quota."""
        return round(self.within(1.0), 4) if len(self._recent) > 1 else None

    def within(self, seconds: float) -> float:
        """Return for how many of the ``seconds`` before the last reading it was throttled; 0 if unknown."""
        recent: list[tuple[float, float]] = []
        for reading in reversed(self._recent):
            recent.append(reading)
            if reading[0] <= recent[0][0] - seconds:
                break
        recent.reverse()
        return growth_at(recent, seconds) if recent and recent[0][0] < recent[-1][0] else 0.0


class QuotaVerdict:
    """Whether a CPU quota throttles: an event says so while it lasts, and another one that it has ended.

    Args:
        cores: the quota.
    """

    def __init__(self, cores: float) -> None:
        self._name = quota_name(cores)
        self._seconds = Trailing(LASTING)
        self._total = 0.0
        self._last: tuple[int, float] | None = None
        self._since: tuple[float, float] | None = None
        """While it throttles: when that began, and the throttled seconds until then."""

    def judge(
        self, now: float, pid: int, throttled: float, processes: int
    ) -> tuple[str, Severity, Kind] | None:
        """Return an event if throttling has begun or ended; None otherwise.

        Args:
            now: the current time in seconds.
            pid: one of the processes that have this quota, the same one as long as it runs.
            throttled: the seconds for which it has been throttled.
            processes: how many processes have the quota.
        """
        if self._last is not None and self._last[0] == pid:
            self._total += max(0.0, throttled - self._last[1])
        self._last = pid, throttled
        self._seconds.add(now, self._total)
        if self._seconds.span < LASTING:
            return None
        share = self._seconds.rate
        name = self._name if processes == 1 else f"{self._name} of {processes} processes"
        if self._since is None and share >= THROTTLED:
            lately = share * LASTING
            self._since = now - LASTING, self._total - lately
            added = ", its cores added up," if lately > LASTING else ""
            lasting = f"throttled for {format_seconds(lately)}{added} in the last {format_seconds(LASTING)}"
            return f"{name}: {lasting}", "warning", "throttled"
        if self._since is not None and share < LITTLE:
            (began, before), self._since = self._since, None
            span = f"{format_seconds(self._total - before)} in {format_seconds(now - began)}"
            return f"{name}: no longer throttled, after {span}", "info", "throttled_ended"
        return None
