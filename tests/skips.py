"""What would let skipped tests run, in one line each instead of one a test. A plugin of pytest."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    """Print each reason for which tests were skipped, and how many were."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    )
    if reasons:
        terminalreporter.write_sep("=", "skipped")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:>5,} {reason}")
