"""Per cent of one core that concwatch itself takes at 120x40: four idle lanes, default rate, tracing on."""

import time
from collections.abc import Mapping

from .figures import Benchmark, Measured, Reach, Row, quiet
from .terminal import Terminal

LANES = 4


def _percent(seconds: float) -> tuple[float, dict[str, object]]:
    with Terminal() as terminal:
        terminal.until_text("1 threads")
        for lane in range(1, LANES + 1):
            terminal.press(str(lane))
            terminal.until_text(f"▌{lane}")
            terminal.press(" ")
        terminal.until(lambda: terminal.text.count("● on ") - terminal.text.count("refill     ● on") >= LANES)
        terminal.run(4.0)
        began, before, bytes_before = (
            time.monotonic(),
            sum(terminal.process.cpu_times()[:2]),
            terminal.bytes_read,
        )
        terminal.run(seconds)
        took = time.monotonic() - began
        used = sum(terminal.process.cpu_times()[:2]) - before
        return used / took * 100, {
            "bytes/s on the terminal": round((terminal.bytes_read - bytes_before) / took),
            "RSS, MiB": round(terminal.process.memory_info().rss / 2**20, 1),
        }


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure over 20 seconds, from outside."""
    found = Measured()
    for _ in range(1 if quick else 3):
        quiet.wait()
        percent, found.detail = _percent(3.0 if quick else 20.0)
        found.values.append(percent)
    return {"cpu": found}


BENCHMARKS = (
    Benchmark(
        "screen",
        (
            Row(
                "cpu",
                "concwatch's own CPU, four idle lanes",
                "%",
                "one core",
                Reach("at most", 15, "measured"),
            ),
        ),
        measure,
    ),
)
