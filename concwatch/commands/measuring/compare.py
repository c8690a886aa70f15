"""``concwatch compare``: compare two recordings, or two results."""

import re
import sys
from pathlib import Path

import click

from concwatch.commands.basics.console import print_error, print_json
from concwatch.commands.basics.values import OUTPUT, STANDARD_OUTPUT, Parsed


def _percent(text: str) -> float:
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*%?\s*", text, re.ASCII)
    if found is None:
        raise ValueError(
            f'--fail-over: "{text[:40]}" is not a percentage; expected 0 or more, such as "5" or "2.5%"'
        )
    value = float(found[1])
    if 0 < value < 1 and "%" not in text:  # it may be meant as a share
        raise ValueError(
            f'--fail-over: "{text[:40]}" has no unit; expected "{found[1]}%" or "{100 * value:g}%"'
        )
    return value


@click.command(
    "compare",
    help="Compare B with A: two recordings or two results.\n\n"
    "Results are files written by concwatch run --json, concwatch sweep --json, concwatch watch --json, or "
    "concwatch experiment NAME --json FILE, both by the same command.\n\n"
    "For each metric this prints both medians, both spreads (from lowest to highest value), the difference, "
    "the ratio and a verdict. More memory, more time and lower rates are worse.\n\n"
    "A difference is beyond the spread if the ranges of A and B do not overlap. If A and B have one value "
    "each, the spread is unknown and any difference counts.\n\n"
    "The values of an experiment are its runs. The ranges of a sweep are 95 % intervals, and a sentence says "
    "whether the number of tasks that are enough has moved. The values of a recording are the samples near "
    "the peak (cost of a task) and the targets reached (creation rate). Every other metric has one value. "
    "Tasks completed are those of the best second.\n\n"
    "Metrics that only one of the two has are listed, not compared. A warning lists conditions that differ, "
    "such as machine or workload.\n\n"
    "The exit status is 0; 1 if --fail-over is exceeded or a file cannot be written; 2 if A and B cannot be "
    "compared.",
)
@click.argument("a", metavar="A", type=click.Path(path_type=Path))
@click.argument("b", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--fail-over",
    type=Parsed("percent", _percent),
    help="Exit with status 1 if a metric of B is worse than that of A by more than this percentage and "
    'beyond the spread, such as "5", "2.5%" or "0"; or if an engine of A is missing or fails in B.',
)
@click.option("--json", is_flag=True, help="Print one JSON object instead of the table.")
@click.option("--markdown", type=OUTPUT, help='Write the tables to FILE as Markdown; "-" is standard output.')
def command(a: Path, b: Path, fail_over: float | None, json: bool, markdown: str | None) -> None:
    """Compare two recordings or results."""
    from concwatch.commands.basics.console import print_lines
    from concwatch.measure.comparing.comparison import compare
    from concwatch.measure.comparing.comparison_report import as_object, report_markdown, table_lines
    from concwatch.measure.comparing.reading import read_both
    from concwatch.system.files import write_atomically

    try:
        _check(a, b, json, markdown)
        comparison = compare(*read_both(a, b), fail_over)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    write_failed = False
    if markdown is not None and markdown != STANDARD_OUTPUT:
        try:
            write_atomically(Path(markdown), report_markdown(comparison))
        except OSError as error:
            print_error(f'--markdown: cannot write "{markdown}": {error.strerror or error}')
            write_failed = True
    if json:
        print_json(as_object(comparison))
    elif markdown == STANDARD_OUTPUT:
        click.echo(report_markdown(comparison), nl=False)
    else:
        print_lines(table_lines(comparison))
    sys.exit(int(write_failed or bool(comparison.failing or comparison.lost)))


def _check(a: Path, b: Path, json: bool, markdown: str | None) -> None:
    """Raise a ValueError, in one line, if the report cannot be written to its destination."""
    from concwatch.system.files import is_same_file

    if markdown is None:
        return
    if markdown == STANDARD_OUTPUT:
        if json:
            raise ValueError("--json and --markdown both print on standard output; give --markdown a file")
        return
    path = Path(markdown)
    if is_same_file(path, a) or is_same_file(path, b):
        raise ValueError(f'--markdown: "{markdown}" is one of the files compared')
