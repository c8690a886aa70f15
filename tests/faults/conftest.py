"""The table of the faults, printed after their tests."""

from collections import Counter
from collections.abc import Iterable

from tests.runner import markdown


def fold(rows: Iterable[tuple[str, str, str]]) -> list[list[str]]:
    """Join rows that have the same subject (the title up to the colon) and the same other cells."""
    titles: dict[tuple[str, ...], list[str]] = {}
    for title, *cells in rows:
        subject, colon, fault = title.partition(": ")
        titles.setdefault((subject + colon, *cells), []).append(fault)
    return [[subject + "; ".join(faults), *cells] for (subject, *cells), faults in titles.items()]


def pytest_terminal_summary(terminalreporter):
    """Print a row for each fault that was survived; pytest itself lists failures and what was skipped."""
    rows = []
    for report in terminalreporter.getreports("passed"):
        for title, times, lost in (value for name, value in report.user_properties if name == "row"):
            counts = (f"{text} ({n} ×)" if n > 1 else text for text, n in Counter(lost).items())
            rows.append((title, str(times), "; ".join(counts) or "nothing"))
    if rows:
        terminalreporter.write_line(markdown(("survived", "times each", "lost"), fold(rows)))
