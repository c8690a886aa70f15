"""The failed tasks of a worker, by the type of the exception and the line that it came from."""

from collections.abc import Iterable, Sequence

from concwatch.links.messages import Failure
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted

DECADES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""The counts from which on the failures of one kind are logged again."""

MOST_SHOWN = 3
"""The kinds that a sentence names."""


def failure_text(failure: Failure) -> str:
    """Return one kind with its count: ``ConnectionRefusedError at app/jobs.py:12: 31 times``."""
    at = f" at {short_place(failure.where)}" if failure.where else ""
    return f"{failure.error or 'other errors'}{at}: {counted(failure.count, 'time')}"


def failures_text(failures: Iterable[Failure]) -> str:
    """Return the most frequent kinds in one line; empty if there are none."""
    ranked = sorted(failures, key=lambda failure: -failure.count)
    texts = [failure_text(failure) for failure in ranked[:MOST_SHOWN]]
    rest = ranked[MOST_SHOWN:]
    if rest:
        texts.append(f"{counted(len(rest), 'other kind')}: {counted(sum(one.count for one in rest), 'time')}")
    return "; ".join(texts)


def added(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return the failures of several workers, those of the same kind added up."""
    counts: dict[tuple[str, str], int] = {}
    for one in failures:
        counts[one.error, one.where] = counts.get((one.error, one.where), 0) + one.count
    return tuple(Failure(*kind, count) for kind, count in counts.items())


def failures_since(before: Iterable[Failure], now: Iterable[Failure]) -> tuple[Failure, ...]:
    """Return what has been added to the failures of one worker."""
    counts = {(one.error, one.where): one.count for one in before}
    grown = ((one, one.count - counts.get((one.error, one.where), 0)) for one in now)
    return tuple(Failure(one.error, one.where, count) for one, count in grown if count > 0)


def failures_json(failures: Iterable[Failure]) -> list[dict[str, object]]:
    """Return the failures for JSON, the most frequent first; what is not known is null."""
    return [
        {"type": one.error or None, "where": one.where or None, "count": one.count}
        for one in sorted(failures, key=lambda failure: -failure.count)
    ]


def new_failures(before: Sequence[Failure], now: Sequence[Failure]) -> list[Failure]:
    """Return the kinds to log: new ones, and those that have become ten times as many.

    The very first failure is not among them, since a worker reports that by itself, with its traceback.
    """
    counts = {(one.error, one.where): one.count for one in before}
    found = []
    for number, one in enumerate(now):
        was = counts.get((one.error, one.where), 0)
        first = not was and (before or number)
        if first or any(was < decade <= one.count for decade in DECADES):
            found.append(one)
    return found
