"""What all lanes have in common, and the commands that say it to a worker."""

from collections.abc import Callable

from msgspec import Struct

from concwatch.units import format_bytes, format_seconds
from concwatch.worker.workloads import HTTP, parse

PARTS = {
    "sleep": ("seconds", "to"),
    "spin": ("seconds",),
    "ticks": ("count", "seconds"),
    "payload": ("size",),
    HTTP: ("seconds",),
}
"""What the values of each word are called on the wire."""


class Settings(Struct, frozen=True):
    """What all lanes have in common."""

    workload: str = "sleep:10"
    refill: bool = True
    trace: bool = False
    gc: str = "default"
    threads: int | None = None
    """Threads of a pool; None leaves the engine's own number."""
    stack: int | None = None
    """Bytes of stack of each thread; None leaves the system's own size."""
    page: str | None = None
    """Where tasks fetch, when that is what they do."""


ON_SCREEN = "sleep:5..15"
"""The workload that a screen begins with: after each has ended once, tasks go on ending at an even rate."""

LARGEST_TARGET = 1_000_000
"""Tasks at the end of a slider, where the machine does not set a lower number."""


def slider_end(fits: int | None) -> int:
    """Return the tasks at the end of a slider, where limits on threads let ``fits`` stand; None for any."""
    return LARGEST_TARGET if fits is None else min(LARGEST_TARGET, max(100, fits // 100 * 100))


def fetches(workload: str) -> bool:
    """Whether tasks of that workload fetch a page."""
    return workload.partition(":")[0].strip() == HTTP


def parts(workload: str) -> dict[str, object]:
    """Return the parts of a workload by name, for workers that do not read the text itself."""
    parsed = parse(workload)
    return {"word": parsed.word, **dict(zip(PARTS.get(parsed.word, ()), parsed.values, strict=False))}


def commands(settings: Settings, can: Callable[[str], bool]) -> list[tuple[str, dict[str, object]]]:
    """Return the commands and their fields that bring a worker to ``settings``, of those that it ``can``."""
    workload = {"spec": settings.workload, **parts(settings.workload)}
    if fetches(settings.workload):
        workload["url"] = settings.page
    orders: list[tuple[str, dict[str, object]]] = [
        ("workload", workload),
        ("refill", {"on": settings.refill}),
    ]
    for command, field, value in (
        ("trace", "on", settings.trace),
        ("gc", "mode", settings.gc),
        ("threads", "count", settings.threads),
        ("stack", "size", settings.stack),
    ):
        if can(command) and value is not None:
            orders.append((command, {field: value}))
    return orders


def describe(spec: str) -> str:
    """Return what each task of a workload does: ``sleeps 5 to 15 s``, ``holds 4 KiB``."""
    workload = parse(spec)
    values = [value for value in workload.values if isinstance(value, int | float)]
    match workload.word, values:
        case "sleep", [least, most]:
            unit = format_seconds(most).rpartition(" ")[2]
            return f"sleeps {format_seconds(least).removesuffix(f' {unit}')} to {format_seconds(most)}"
        case "sleep", [seconds]:
            return f"sleeps {format_seconds(seconds)}"
        case "ticks", [count, seconds]:
            return f"sleeps {count:,} × {format_seconds(seconds)}"
        case "hold", _:
            return "waits until stopped"
        case "payload", [size]:
            return f"holds {format_bytes(size)}"
        case "spin", [seconds]:
            return f"computes {format_seconds(seconds)}"
        case "nop", _:
            return "ends at once"
        case "http", _:
            return "fetches a page"
    return f"calls {spec}"
