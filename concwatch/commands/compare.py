"""``concwatch compare``: two recordings, or two results, side by side."""

import re
import sys
from pathlib import Path

import click

from concwatch.commands.values import OUTPUT, STANDARD_OUTPUT, Parsed
from concwatch.console import print_error, print_json


def _percent(text: str) -> float:
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*%?\s*", text, re.ASCII)
    if found is None:
        raise ValueError(
            f'--fail-over: "{text[:40]}" is not a percentage: expected a number from 0, such as "5" or "2.5%"'
        )
    return float(found[1])


@click.command(
    "compare",
    help="Put B beside A: two recordings, two results of one experiment (concwatch experiment NAME --json "
    "FILE), or two of concwatch run --json.\n\n"
    "For each figure: both medians, the spread of each from lowest to highest, difference, ratio, and what "
    "it comes to. More memory, more time and lower rates are worse.\n\n"
    "A difference is beyond the spread when the ranges of A and B, lowest to highest, have no value in "
    "common. With one value each the spread is unknown, and any difference counts.\n\n"
    "Of an experiment the values are its runs; of a recording they are the samples near the peak, for the "
    "cost of a task, and the targets reached, for the rate of creation; of all else there is one value. "
    "Tasks completed are those of the best second.\n\n"
    "Figures that only one has are listed, not compared. What was measured under other conditions is "
    "compared, with a caution.\n\n"
    "The exit status is 0, or 1 when something fails, or 2 when the two cannot be compared.",
)
@click.argument("a", metavar="A", type=click.Path(path_type=Path))
@click.argument("b", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--fail-over",
    type=Parsed("percent", _percent),
    help="Exit with status 1 when a figure of B is worse than that of A by more than this, "
    'beyond the spread: "5", "2.5%", "0".',
)
@click.option("--json", is_flag=True, help="One JSON object on standard output in place of the table.")
@click.option("--markdown", type=OUTPUT, help='The tables as Markdown; "-" is standard output.')
def command(a: Path, b: Path, fail_over: float | None, json: bool, markdown: str | None) -> None:
    """Put two recordings or results side by side."""
    from concwatch.comparing.comparison import compare
    from concwatch.comparing.reading import read_both
    from concwatch.comparing.report import as_object, report_markdown, table_lines
    from concwatch.console import print_lines
    from concwatch.files import write_atomically

    try:
        _check(a, b, json, markdown)
        comparison = compare(*read_both(a, b), fail_over)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    lost = False
    if markdown is not None and markdown != STANDARD_OUTPUT:
        try:
            write_atomically(Path(markdown), report_markdown(comparison))
        except OSError as error:
            print_error(f'--markdown: "{markdown}" not written: {error.strerror or error}')
            lost = True
    if json:
        print_json(as_object(comparison))
    elif markdown == STANDARD_OUTPUT:
        click.echo(report_markdown(comparison), nl=False)
    else:
        print_lines(table_lines(comparison))
    sys.exit(int(lost or bool(comparison.failing)))


def _check(a: Path, b: Path, json: bool, markdown: str | None) -> None:
    """Check where the report goes, before anything is read.

    Raises:
        ValueError: one line: it cannot go there.
    """
    from concwatch.files import is_same_file

    if markdown is None:
        return
    if markdown == STANDARD_OUTPUT:
        if json:
            raise ValueError(
                "--json and --markdown both go to standard output: expected a file for --markdown"
            )
        return
    place = Path(markdown)
    if is_same_file(place, a) or is_same_file(place, b):
        raise ValueError(f'--markdown: "{markdown}" is what is compared: expected another file')
