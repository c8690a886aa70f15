"""What is told of watched processes in words."""

from concwatch.text import short_place
from concwatch.units import counted, format_bytes, format_count, format_seconds
from concwatch.watch.group import Group
from concwatch.watch.watched import WatchedProcess


def details(lane: WatchedProcess) -> list[tuple[str, str]]:
    """Return what else is known of the process: labels and texts for a person."""
    ready, tick = lane.ready, lane.tick
    found = [("is", ready.runtime if ready else ""), ("seen", lane.reason)]
    if ready is not None:
        found.append(("with", " · ".join(ready.flags)))
    if tick is not None:
        found += [(loop.name, f"lag {format_seconds(loop.lag)}") for loop in tick.loops[:3]]
        found += [
            (pool.name, f"{pool.threads} threads · {format_count(pool.queued)} queued")
            for pool in tick.executors[:3]
        ]
        if tick.limiter is not None:
            limiter = tick.limiter
            found.append(
                ("limiter", f"{limiter.used} of {limiter.total:g} · {format_count(limiter.waiting)} wait")
            )
        found += [(thread.name, counted(thread.count, "thread")) for thread in tick.threads[:4]]
        if tick.retained:
            found.append(("retained", f"{counted(tick.retained, 'finished task')} still held"))
        if tick.gc is not None:
            found.append(("collector", format_seconds(tick.gc)))
        if tick.traced is not None:
            found.append(("traced", format_bytes(tick.traced)))
    return [(label, text) for label, text in found if text]


def leak_sentence(group: Group) -> str:
    """Return what grows, how fast, and where most of it waits."""
    report, live_grows = group.report, group.meter.leaks
    growth = (group.meter if live_grows else group.retained_meter).growth
    where = f" ({short_place(report.file)}:{report.line})" if report.file else ""
    what = "grows" if live_grows else "has finished tasks that something still holds: they grow"
    rate = (
        f" by {format_count(round(growth.per_minute))} a minute, "
        f"95 % {format_count(round(growth.low))} to {format_count(round(growth.high))}"
        if growth
        else ""
    )
    waits = (
        f"; {format_count(group.waits[0].tasks)} wait at {short_place(group.waits[0].where)}"
        if group.waits
        else ""
    )
    return f"{report.name}{where} {what}{rate}{waits}"
