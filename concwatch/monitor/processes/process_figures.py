"""The figures of a watched process as snapshots have them, with what is known of them once it has ended."""

from typing import Any

from msgspec import structs

from concwatch.links.agent_messages import AgentErrors, AgentTick
from concwatch.monitor.groups.group_moment import EndedGroup, GroupMoment
from concwatch.monitor.metrics.group_status import OF_NOW
from concwatch.monitor.metrics.metric import MetricSource, fields_from
from concwatch.monitor.metrics.metrics import LaneStatus
from concwatch.monitor.metrics.process_status import ProcessStatus
from concwatch.monitor.processes.agent_reports import OF_TASKS, AgentReports
from concwatch.monitor.processes.process_history import ProcessHistory
from concwatch.monitor.processes.process_now import ProcessNow
from concwatch.monitor.processes.process_verdicts import ProcessVerdicts

AT_THAT_MOMENT = ("live", "retained", "queued")
"""The counts that are unknown if a process has ended without its last report."""

SO_FAR = ("created", "ended", "failed", "left_over", "destroyed")
"""The counts that may be too low in this case."""


def lane_status(
    pid: int,
    born: float,
    current: ProcessNow,
    reports: AgentReports,
    history: ProcessHistory,
    verdicts: ProcessVerdicts,
) -> LaneStatus:
    """Return the figures of the lane that seldom change."""
    ready, reading, tick = current.ready, current.reading, reports.tick
    return LaneStatus(
        state=current.state,
        reason="; ".join(filter(None, (current.reason, reports.uncounted))),
        wake_lag_p99=history.lags.quantile(0.99),
        peak_rss=reading.peak_rss if reading else None,
        idle_rss=history.rss_first,
        runtime=ready.runtime if ready else None,
        pid=pid,
        flags=ready.flags if ready else (),
        can=ready.can if ready else (),
        born=born,
        tracing=tick is not None and tick.traced is not None,
        cpu_quota=reading.cpu_quota if reading else None,
        ongoing=verdicts.ongoing if current.alive else (),
    )


def process_status(
    current: ProcessNow,
    reports: AgentReports,
    history: ProcessHistory,
    verdicts: ProcessVerdicts,
    errors: AgentErrors | None,
) -> ProcessStatus:
    """Return the figures of the whole process."""
    reading, tick, detects_blocks = current.reading, reports.tick, current.detects_blocks
    return ProcessStatus(
        rss_first=history.rss_first,
        rss_last=reading.rss if reading else None,
        rss_peak=history.rss_peak,
        pss=reading.pss if reading else None,
        kernel_last=reading.kernel if reading else None,
        anonymous=reading.anonymous if reading else None,
        file_pages=reading.file_pages if reading else None,
        shared=reading.shared if reading else None,
        cpu_seconds=history.cpu_seconds,
        threads=history.threads_peak,
        throttled=history.throttled,
        queued_peak=history.queued_peak,
        lag_p99=history.lags.quantile(0.99),
        blocked=verdicts.blocks.longest if detects_blocks else None,
        blocked_for=verdicts.blocked_for if detects_blocks and current.alive else None,
        leaks=reports.leaks + sum(one.leaks for one in reports.resources.all()),
        agent_errors=current.so_far(errors.total) if errors else None,
        memory_leaks=int(verdicts.memory.leaks),
        memory_limit=reading.memory_limit if reading else None,
        memory_used=reading.memory_used if reading else None,
        at_least=_at_least(tick, current, reports, history.live_peak) if tick else (),
        **_of_tasks(tick, current, reports, history.live_peak),
    )


def _of_tasks(
    tick: AgentTick | None, current: ProcessNow, reports: AgentReports, live_peak: int | None
) -> dict[str, Any]:
    """Return the figures of the tasks."""
    if tick is None:
        return {"live_peak": live_peak}
    found = {name: getattr(tick, name) for name in fields_from(ProcessStatus, MetricSource.TICK)}
    counts = reports.counts(tick)
    created, ended = counts["created"] or 0, counts["ended"]
    found |= counts | {
        "live_peak": live_peak or (None if tick.created else live_peak),
        "created": created + tick.missed,
        "ended": None if ended is None else ended + tick.missed,
        "live_at_end": counts["live"] if current.exited_normally else None,
        "left_over": current.so_far(counts["left_over"]),
        "destroyed": current.so_far(counts["destroyed"]),
        "gc_seconds": tick.gc,
    }
    if current.ended_unreported:
        found |= dict.fromkeys(AT_THAT_MOMENT)
    if tick.uncounted:
        found |= dict.fromkeys(OF_TASKS)
    return found


def _at_least(
    tick: AgentTick, current: ProcessNow, reports: AgentReports, live_peak: int | None
) -> tuple[str, ...]:
    """Return the names of figures that may be too low, because scans may have missed tasks."""
    if current.ended_unreported:
        return (*SO_FAR, "live_peak")
    if tick.missed or reports.misses_tasks:
        return ("created", "ended", "live_peak")
    return ("live_peak",) if (live_peak or 0) < tick.created + (tick.since or 0) else ()


def ended_group(moment: GroupMoment, current: ProcessNow) -> EndedGroup:
    """Return the final figures of a group of a process that has ended."""
    status = moment.status
    unknown = () if current.time_is_up else OF_NOW
    at_least = status.at_least
    if current.ended_unreported:
        unknown += ("live", "retained")
        at_least += tuple(name for name in SO_FAR if name not in at_least)
    known: dict[str, Any] = {
        "left_over": current.so_far(status.left_over),
        "destroyed": current.so_far(status.destroyed),
        "live_at_end": status.live if current.exited_normally else None,
        "at_least": at_least,
    }
    return EndedGroup(moment, structs.replace(status, **known, **dict.fromkeys(unknown)))
