"""Inject the faults one after another, each in a process of its own, and print the table."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from concwatch.files import write_whole
from tests.faults.driving import THOROUGH
from tests.faults.fault import Fault, Impossible
from tests.faults.rows import FAULTS

ROOT = Path(__file__).resolve().parents[2]
IMPOSSIBLE = 77
"""Exit status of an injection that this machine does not allow."""


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


def inject_here(fault: Fault) -> int:
    """Inject one fault once in this process; what was lost goes to standard output."""
    # Under nohup, or in a shell's background, what is started here would ignore what it is to be ended by.
    for name in ("SIGHUP", "SIGINT"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        print(fault.inject())
    except Impossible as reason:
        print(reason)
        return IMPOSSIBLE
    return 0


def end_all_of(process: subprocess.Popen[str]) -> None:
    """End a process and all that it started."""
    family = [psutil.Process(process.pid)]
    family += family[0].children(recursive=True)
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue


def inject_apart(fault: Fault, tally: Tally) -> None:
    """Inject one fault once in a process of its own, so that what hangs or dies costs no other row."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults", "--inject", fault.name],
        cwd=ROOT,
        env={**os.environ, THOROUGH: "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=fault.seconds)
    except subprocess.TimeoutExpired:
        end_all_of(process)
        out, err = process.communicate()
        err += f"\nnot over within {fault.seconds:g} s"
    if process.returncode == IMPOSSIBLE:
        tally.impossible = out.strip()
        return
    tally.injected += 1
    if process.returncode == 0:
        tally.survived += 1
        sys.stderr.write(err)  # figures that it took on the way
        tally.lost += [out.strip()] if out.strip() else []
    else:
        tally.problems.append(err.strip()[-3000:])


def run(fault: Fault, times: int) -> Tally:
    """Inject one fault so many times."""
    tally = Tally(fault.name, fault.what, fault.holds)
    began = time.monotonic()
    for _ in range(times):
        inject_apart(fault, tally)
        if tally.impossible:
            break
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
    parser.add_argument("--all", action="store_true", help="each as often as it says; else each once")
    parser.add_argument("--only", metavar="NAME,…", help="these alone, whole names or their beginnings")
    parser.add_argument("--times", type=int, metavar="N", help="each so often")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    parser.add_argument("--inject", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inject:
        (fault,) = (fault for fault in FAULTS if fault.name == options.inject)
        return inject_here(fault)
    beginnings = tuple(options.only.split(",")) if options.only else ("",)
    chosen = [fault for fault in FAULTS if fault.name.startswith(beginnings)]
    if not chosen:
        parser.error(f"no fault begins with {options.only}: see --list")
    if options.list:
        print(*(f"{fault.name:32} {fault.what}" for fault in chosen), sep="\n")
        return 0
    tallies = []
    for fault in chosen:
        print(f"{fault.name} …", file=sys.stderr, flush=True)
        tallies.append(run(fault, options.times or (fault.times if options.all else 1)))
        for problem in tallies[-1].problems:
            print(problem, file=sys.stderr, flush=True)
        if options.json:  # after each, for all of them take hours
            write_whole(Path(options.json), json.dumps([asdict(tally) for tally in tallies], indent=2))
    print("| injected | times | survived | lost |\n| --- | --: | --: | --- |")
    print(*map(row, tallies), sep="\n")
    return int(any(tally.problems for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
