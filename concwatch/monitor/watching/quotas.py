"""The verdicts on the CPU quotas of a program's processes."""

from collections.abc import Iterable

from concwatch.monitor.processes.watched import WatchedProcess
from concwatch.monitor.verdicts.events import LaneEventSink
from concwatch.monitor.verdicts.throttling import QuotaVerdict


class Quotas:
    """The CPU quotas that throttle; processes with the same quota are taken to be in one control group.

    Args:
        log: adds an event of any lane.
    """

    def __init__(self, log: LaneEventSink) -> None:
        self._log = log
        self._verdicts: dict[float, QuotaVerdict] = {}
        """By the quota's cores."""

    def judge(self, alive: Iterable[WatchedProcess], now: float) -> None:
        """Log which quotas throttle running processes, and which no longer do; an event for each quota."""
        lanes: dict[float, list[WatchedProcess]] = {}
        for lane in alive:
            reading = lane.current.reading
            if reading is not None and reading.cpu_quota is not None and reading.throttled is not None:
                lanes.setdefault(reading.cpu_quota, []).append(lane)
        self._verdicts = {cores: self._verdicts.get(cores) or QuotaVerdict(cores) for cores in lanes}
        for cores, found in lanes.items():
            first = found[0]
            throttled = first.history.throttled or 0.0
            event = self._verdicts[cores].judge(now, first.pid, throttled, len(found))
            if event is not None:
                self._log(first.name if len(found) == 1 else "", *event)
