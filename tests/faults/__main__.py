"""Inject faults one after another, each in a process of its own, and print the table.

Without options it is a short round of about a minute, in which each has one engine and no time is judged.
"""

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from concwatch.files import write_whole
from tests.faults.all_faults import FAULTS
from tests.faults.fault import THOROUGH, Fault, Impossible

FORK = multiprocessing.get_context("fork")
"""All is imported once."""


@dataclass
class Tally:
    """What came of one fault."""

    name: str
    what: str
    holds: str
    injected: int = 0
    survived: int = 0
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    impossible: str = ""
    seconds: float = 0.0


def inject_here(fault: Fault, answer: Connection) -> None:
    """Inject one fault once in this process, and tell which field of the tally has what."""
    # Under nohup, or in a shell's background, what is started here would ignore what it is to be ended by.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        answer.send(("lost", fault.inject()))
    except Impossible as reason:
        answer.send(("impossible", str(reason)))
    except BaseException:
        answer.send(("problems", traceback.format_exc()[-3000:]))


def end_all_of(pid: int) -> None:
    """End a process and all that it started."""
    family = [psutil.Process(pid)]
    for member in family + family[0].children(recursive=True):
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue


def inject_apart(fault: Fault, tally: Tally) -> None:
    """Inject one fault once in a process of its own, so that what hangs or dies costs no other row."""
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=inject_here, args=(fault, theirs))
    process.start()
    theirs.close()
    kind, text = "problems", f"not over within {fault.seconds:g} s"
    if ours.poll(fault.seconds):
        try:
            kind, text = ours.recv()
        except EOFError:
            text = "it ended without an answer"
        process.join(fault.seconds)
    if process.exitcode is None:
        end_all_of(process.pid)
        process.join()
    if kind == "impossible":
        tally.impossible = text
        return
    tally.injected += 1
    tally.survived += kind == "lost"
    getattr(tally, kind).extend([text] if text else [])


def run(fault: Fault, times: int) -> Tally:
    """Inject one fault so many times."""
    tally, began = Tally(fault.name, fault.what, fault.holds), time.monotonic()
    while tally.injected < times and not tally.impossible:
        inject_apart(fault, tally)
    tally.seconds = round(time.monotonic() - began, 1)
    return tally


def row(tally: Tally) -> str:
    """Return one row of the table, in Markdown."""
    if tally.impossible:
        return f"| {tally.what} | – | – | not tried: {tally.impossible} |"
    lost = "; ".join(
        f"{text} ({count} ×)" if count > 1 else text for text, count in Counter(tally.lost).items()
    )
    return f"| {tally.what} | {tally.injected} | {tally.survived} | {lost or 'nothing'} |"


def main() -> int:
    """Parse the command line, inject, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--all", action="store_true", help="all, thoroughly, each as often as it says: hours")
    parser.add_argument("--only", metavar="NAME,…", help="these, thoroughly: whole names or their beginnings")
    parser.add_argument("--times", type=int, metavar="N", help="each so often")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    beginnings = tuple(options.only.split(",")) if options.only else ("",)
    chosen = [fault for fault in FAULTS.values() if fault.name.startswith(beginnings)]
    if not chosen:
        parser.error(f"no fault begins with {options.only}: see --list")
    if options.list:
        print(*(f"{fault.name:32} {fault.what}" for fault in chosen), sep="\n")
        return 0
    if options.all or options.only:
        os.environ[THOROUGH] = "1"
    else:
        chosen = [fault for fault in chosen if fault.short]
    tallies = []
    with tempfile.TemporaryDirectory(prefix="concwatch-state-") as folder:
        # As nobody's settings and choices would have it, and without changing them.
        os.environ |= {"XDG_STATE_HOME": folder, "CONCWATCH_SETTINGS": os.devnull}
        for fault in chosen:
            print(f"{fault.name} …", file=sys.stderr, flush=True)
            tallies.append(run(fault, options.times or (fault.times if options.all else 1)))
            for problem in tallies[-1].problems:
                print(problem, file=sys.stderr, flush=True)
            if options.json:  # after each, for all of them take hours
                write_whole(Path(options.json), json.dumps([asdict(tally) for tally in tallies], indent=2))
    print("| injected | times | survived | lost |\n| --- | --: | --: | --- |")
    print(*map(row, tallies), sep="\n")
    failed = sum(bool(tally.problems) for tally in tallies)
    skipped = sum(bool(tally.impossible) for tally in tallies)
    print(f"\nfaults: {len(tallies) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
