"""What a workload does, in a few words."""

from concwatch.units import format_bytes, format_seconds
from concwatch.worker.workloads import parse


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
