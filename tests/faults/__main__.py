"""Inject faults one after another, each in a process of its own, and print the table.

Without options this is a short round of about a minute, with one engine per fault and no time limits.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable

from tests.commands import Failed, Impossible, in_process, markdown, parse, save
from tests.faults.all_faults import FAULTS
from tests.faults.fault import THOROUGH, Fault


def run(fault: Fault, times: int) -> dict[str, object]:
    """Inject one fault ``times`` times. Return the figures of its row."""
    lost: list[str] = []
    problems: list[str] = []
    impossible = ""
    while len(lost) + len(problems) < times and not impossible:
        try:
            lost.append(in_process(fault.inject, seconds=fault.seconds))
        except Failed as problem:
            problems.append(str(problem))
            print(problem, file=sys.stderr, flush=True)
        except Impossible as reason:
            impossible = str(reason)
    return {
        "name": fault.name,
        "what": fault.what,
        "injected": len(lost) + len(problems),
        "survived": len(lost),
        "lost": [text for text in lost if text],
        "problems": problems,
        "impossible": impossible,
    }


def row(found: dict) -> list[str]:
    """Return the cells of one row."""
    if found["impossible"]:
        return [found["what"], "–", "–", f"not injected: {found['impossible']}"]
    lost = (f"{text} ({n} ×)" if n > 1 else text for text, n in Counter(found["lost"]).items())
    return [found["what"], str(found["injected"]), str(found["survived"]), "; ".join(lost) or "nothing"]


def fold(rows: Iterable[list[str]]) -> list[list[str]]:
    """Join rows that have the same subject (the title up to the colon) and the same other cells."""
    titles: dict[tuple[str, ...], list[str]] = {}
    for title, *cells in rows:
        subject, colon, fault = title.partition(": ")
        titles.setdefault((subject + colon, *cells), []).append(fault)
    return [[subject + "; ".join(faults), *cells] for (subject, *cells), faults in titles.items()]


def main() -> int:
    """Parse the command line, inject, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="all, thoroughly, each as often as it says; takes hours"
    )
    parser.add_argument("--times", type=int, metavar="N", help="inject each fault N times")
    options = parse(parser, {name: fault.what for name, fault in FAULTS.items()})
    if options.all or options.only:
        os.environ[THOROUGH] = "1"
    found = []
    for fault in map(FAULTS.__getitem__, options.names):
        if fault.short or options.all or options.only:
            print(f"{fault.name} …", file=sys.stderr, flush=True)
            found.append(run(fault, options.times or (fault.times if options.all else 1)))
            save(
                options.json, json.dumps(found, indent=2)
            )  # after each fault, because all of them take hours
    print(markdown(("injected", "times each", "survived", "lost"), fold(map(row, found))))
    failed = sum(bool(one["problems"]) for one in found)
    skipped = sum(bool(one["impossible"]) for one in found)
    print(f"\nfaults: {len(found) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
