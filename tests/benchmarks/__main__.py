"""Run benchmarks, and print the results as a table and as JSON."""

import argparse
import json
import os
import platform
import sys
import time
import traceback

import psutil

from tests.benchmarks.all_benchmarks import BENCHMARKS
from tests.benchmarks.figures import Quantity, RowValues, quiet
from tests.runner import markdown, parse, save

HEADER = ("what", "measured", "reference", "ratio", "aim", "reached", "busy before")


def number(value: float) -> str:
    """Format a figure with at least three digits."""
    digits = 0 if abs(value) >= 999.5 else 1 if abs(value) >= 99.95 else 2 if abs(value) >= 9.995 else 3
    return f"{value:,.{digits}f}"


def record(benchmark: str, row: Quantity, found: RowValues) -> dict[str, object]:
    """Return the results of one row for JSON."""
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
        "busy_before_percent": max(quiet.busy, default=0),
    }


def cells(row: dict) -> tuple[str, ...]:
    """Return the cells of one row of the table."""
    reference = number(row["reference"]) if row["reference"] is not None else ""
    return (
        row["what"],
        f"{number(row['measured'])} {row['unit']}",
        " ".join(filter(None, (reference, row["against"]))) or "–",
        f"{row['ratio']:.3f}" if row["ratio"] is not None else "–",
        row["reach"],
        {True: "yes", False: "NO", None: "–"}[row["reached"]],
        f"{row['busy_before_percent']:.0f} %",
    )


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="smaller and shorter runs, to check that they work"
    )
    options = parse(parser, {name: one.rows[0].what for name, one in BENCHMARKS.items()})
    records, failed = [], []
    for name in options.names:
        quiet.begin(options.quick)
        began = time.monotonic()
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            found = BENCHMARKS[name].measure(options.quick)
        except Exception:  # continue with the others
            traceback.print_exc()
            failed.append(name)
            continue
        rows = [record(name, row, found[row.name]) for row in BENCHMARKS[name].rows if row.name in found]
        print(*("  " + "  ".join(cells(row)) for row in rows), sep="\n", file=sys.stderr)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        records += rows
    document = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": psutil.cpu_count(),
        "load": os.getloadavg(),
        "quick": options.quick,
        "could_not_be_measured": failed,
        "rows": records,
    }
    print(markdown(HEADER, map(cells, records)))
    if options.quick:
        print("quick: fewer tasks, shorter times and fewer rounds than the rows state")
    for name in failed:
        print(f"{name}: could not be measured")
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if options.json:
        save(options.json, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
