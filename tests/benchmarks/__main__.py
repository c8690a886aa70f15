"""Measure, and print what came out as a table and as JSON."""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

import psutil

from tests.benchmarks.all_benchmarks import BENCHMARKS
from tests.benchmarks.figures import Measured, Row, quiet

HEADER = ("what", "measured", "reference", "ratio", "reach", "reached", "busy before")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 999.5 else 1 if abs(value) >= 99.95 else 2 if abs(value) >= 9.995 else 3
    return f"{value:,.{digits}f}"


def _record(benchmark: str, row: Row, found: Measured) -> dict[str, object]:
    return {
        "benchmark": benchmark,
        "row": row.name,
        "what": row.what,
        "unit": row.unit,
        "against": row.against or None,
        "measured": found.middle,
        "reference": found.reference_middle,
        "ratio": found.ratio,
        "reach": row.reach or "–",
        "reached": row.is_reached(found),
        "values": found.values,
        "reference_values": found.reference,
        "detail": found.detail,
        "busy_before_percent": max(quiet.busy, default=None),
    }


def _cells(row: Row, found: Measured) -> tuple[str, ...]:
    reference = _number(found.reference_middle) if found.reference else ""
    return (
        row.what,
        f"{_number(found.middle)} {row.unit}",
        " ".join(filter(None, (reference, row.against))) or "–",
        f"{found.ratio:.3f}" if found.ratio is not None else "–",
        row.reach or "–",
        {True: "yes", False: "NO", None: "–"}[row.is_reached(found)],
        f"{max(quiet.busy, default=0):.0f} %",
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in (0, 2) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (HEADER, *rows)
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    names = ", ".join(BENCHMARKS)
    parser.add_argument("--only", metavar="NAME,…", help=f"of {names}")
    parser.add_argument("--quick", action="store_true", help="smaller and shorter: to see that it works")
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write the JSON there, not behind the table"
    )
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else list(BENCHMARKS)
    unknown = [name for name in wanted if name not in BENCHMARKS]
    if unknown:
        parser.error(f'unknown benchmark "{unknown[0]}": expected some of {names}')
    # As nobody's settings and choices would have it, and without changing them.
    folder = tempfile.TemporaryDirectory(prefix="concwatch-state-")
    os.environ |= {"XDG_STATE_HOME": folder.name, "CONCWATCH_SETTINGS": os.devnull}
    table, records, failed = [], [], []
    for name, benchmark in BENCHMARKS.items():
        if name not in wanted:
            continue
        quiet.begin(options.quick)
        began = time.monotonic()
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            found = benchmark.measure(options.quick)
        except Exception:  # the others go on
            traceback.print_exc()
            failed.append(name)
            continue
        for row in (row for row in benchmark.rows if row.name in found):
            table.append(_cells(row, found[row.name]))
            records.append(_record(name, row, found[row.name]))
            print("  " + "  ".join(table[-1]), file=sys.stderr)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    document = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": psutil.cpu_count(),
        "load": os.getloadavg(),
        "quick": options.quick,
        "could_not_be_measured": failed,
        "rows": records,
    }
    print(_table(table) if table else "nothing could be measured")
    if options.quick:
        print("quick: fewer tasks, shorter times and fewer rounds than the rows say")
    for name in failed:
        print(f"{name}: could not be measured")
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
