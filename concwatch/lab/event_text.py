"""A worker's reports as sentences for the event log."""

from concwatch.links.messages import BurstDone, Limit, Reached
from concwatch.units import counted, format_bytes, format_count, format_rate, format_seconds


def name_wall(limit: Limit) -> str:
    """Name what was hit, with its value: ``vm.max_map_count (65,530)``, ``memory budget (2 GiB)``."""
    if limit.value is None:
        return limit.wall
    value = format_bytes(limit.value) if "memory" in limit.wall else format_count(limit.value)
    return f"{limit.wall} ({value})"


def limit_text(limit: Limit) -> str:
    """Return how many tasks there are, and what stops the rest."""
    detail = f": {limit.detail}" if limit.detail else ""
    tasks = f"{format_count(limit.standing)} of {format_count(limit.wanted)} tasks"
    return f"{name_wall(limit)} reached at {tasks}{detail}"


def reached_text(reached: Reached) -> str:
    """Return what became of a target, how long it took, and how fast that was."""
    took = format_seconds(reached.seconds)
    if not reached.created:
        left = f", {format_count(reached.target)} left" if reached.target else ""
        return f"{counted(reached.cancelled, 'task')} stopped in {took}{left}"
    speed = format_rate(reached.created / reached.seconds) if reached.seconds > 0 else "at once"
    live = "" if reached.live >= reached.target else f", {format_count(reached.live)} still live"
    return f"{counted(reached.created, 'task')} started in {took} ({speed}){live}"


def burst_text(done: BurstDone) -> str:
    """Return how long a burst took, and how much of that was spent creating it."""
    took, created = format_seconds(done.seconds), format_seconds(done.create_seconds)
    return f"burst of {counted(done.tasks, 'task')} finished in {took}, created in {created}"
