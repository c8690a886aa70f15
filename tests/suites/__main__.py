"""Run suites bare and wrapped, and print a table of tests, differences and seconds."""

import argparse
import platform
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from tests.suites.running import Place, SuiteRun, prepare, version_of
from tests.suites.suites import BARE, CI, KNOWN, SUITES, WATCH, WRAPPERS

REPEATS = 5
"""Times that tests with different outcomes are run again."""


def run_all(place: Place, wrappers: Sequence[str], tests: Sequence[str] = ()) -> list[SuiteRun]:
    """Run a suite, or some of its tests, with each wrapper, all at the same time: most tests wait.

    A run that crashes, or hangs and is killed, is repeated once.
    """

    def run(wrapper: str) -> SuiteRun:
        found = place.run(wrapper, tests)
        return found if found.outcomes else place.run(wrapper, tests)

    with ThreadPoolExecutor(len(wrappers)) as pool:
        return list(pool.map(run, wrappers))


def differences(place: Place, wrapper: str, bare: SuiteRun, wrapped: SuiteRun) -> dict[str, str]:
    """Return each test whose outcome is never the same bare and wrapped, with both outcomes."""
    seen = {
        name: ({bare.outcomes.get(name)}, {wrapped.outcomes.get(name)})
        for name in sorted({*bare.outcomes, *wrapped.outcomes})
    }
    for repeat in range(REPEATS + 1):
        seen = {name: both for name, both in seen.items() if not both[0] & both[1]}
        if repeat == REPEATS or not seen or not wrapped.outcomes:
            break
        again = run_all(place, (BARE, wrapper), [*seen])
        for name, both in seen.items():
            outcomes = [run.outcomes.get(name) for run in again]
            if any(outcomes):  # or else this test cannot be run alone
                for outcome, before in zip(outcomes, both, strict=True):
                    before.add(outcome)
    return {name: " ".join(map(_words, both)) for name, both in seen.items()}


def _words(outcomes: set[str | None]) -> str:
    return "/".join(sorted(one or "missing" for one in outcomes))


def is_known(suite: str, test: str) -> str:
    """Return why a test is known to differ; empty if it is not."""
    return next((why for (name, end), why in KNOWN.items() if name == suite and test.endswith(end)), "")


def compare(place: Place, wrappers: Sequence[str]) -> tuple[list[str], bool]:
    """Run one suite. Return its row of the table, and whether `WATCH` has an unexplained difference."""
    bare, *others = run_all(place, (BARE, *wrappers))
    row = [place.suite.name, str(len(bare.outcomes)), f"{bare.seconds:.0f} s"]
    bad = not bare.outcomes
    for wrapper, wrapped in zip(wrappers, others, strict=True):
        found = differences(place, wrapper, bare, wrapped)
        row += [str(len(found)), f"{wrapped.seconds:.0f} s"]
        for name, outcomes in found.items():
            why = is_known(place.suite.name, name)
            print(
                f"{place.suite.name}, {wrapper}: {name}: {outcomes}{f' ({why})' if why else ''}", flush=True
            )
            bad |= wrapper == WATCH and not why
    return row, bad


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m tests.suites", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(suite.name for suite in SUITES))
    parser.add_argument("--python", action="append", type=Path, help="an interpreter; can be repeated")
    parser.add_argument(
        "--wrapper", action="append", choices=[*WRAPPERS][1:], help="by default concwatch watch"
    )
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/concwatch-suites")
    arguments = parser.parse_args()
    names = arguments.names or CI
    chosen = [suite for suite in SUITES if suite.name in names]
    unknown = set(names) - {suite.name for suite in chosen}
    if unknown:
        parser.error(f"unknown suite {', '.join(sorted(unknown))}")
    wrappers = arguments.wrapper or [WATCH]
    rows, failed = [], False
    for python in arguments.python or [Path(sys.executable)]:
        version = version_of(python)
        for suite in chosen:
            row, bad = compare(prepare(suite, python, wrappers, arguments.cache), wrappers)
            rows.append([version, *row])
            failed |= bad
            print(" · ".join(rows[-1]), flush=True)
    heads = [
        "CPython",
        "suite",
        "tests",
        "bare",
        *(part for name in wrappers for part in (f"{name}: differ", "took")),
    ]
    print(f"\n{date.today()}, {platform.system()} {platform.machine()}\n")
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
