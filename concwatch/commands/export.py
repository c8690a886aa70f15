"""``concwatch export``: a recording's samples for other programs, or as charts in plain text."""

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from concwatch.charts.table import CHARTS
from concwatch.commands import completion
from concwatch.commands.chart import charts_of, check_chart
from concwatch.commands.values import OUTPUT, STANDARD_OUTPUT, Parsed, number
from concwatch.console import print_error
from concwatch.files import is_same_file, write_atomically
from concwatch.lab.snapshot import COLUMNS
from concwatch.recordings.export import FORMATS, parquet_problem, read_columns
from concwatch.recordings.load import load

CHART, SLIDE = "chart", "chart_svg"

SCALE = Parsed("n", number(0.25, 8, "not a scale: expected a number from 0.25 to 8"))

NEEDED = "expected one of --csv, --json, --parquet, --chart, --chart-svg"


def _read_size(text: str) -> tuple[int, int]:
    from concwatch.charts.slide import parse_size  # as all that draws: only for who asks

    return parse_size(text)


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE", shell_complete=completion.recordings)
@click.option("--csv", is_flag=True, help="A line a sample, below one with the columns' names.")
@click.option("--json", is_flag=True, help="One list, an object a sample.")
@click.option("--parquet", is_flag=True, help='Apache Parquet; needs the extra "parquet".')
@click.option("--chart", is_flag=True, help="Charts in plain text, without a screen.")
@click.option("--chart-svg", is_flag=True, help="One chart as a picture for a slide.")
@click.option(
    "--metric",
    type=click.Choice([spec.metric for spec in CHARTS]),
    default="rss",
    help="What that chart shows.",
)
@click.option("--size", type=Parsed("pixels", _read_size), default="1280x720", help="Its width and height.")
@click.option("--scale", type=SCALE, default="1", help="How much larger its letters are.")
@click.option("--light", is_flag=True, help="On a light ground.")
@click.option(
    "--columns",
    type=Parsed("column,...", read_columns, lambda: COLUMNS, listed=True),
    show_default="all",
    help="Which.",
)
@click.option(
    "--out", type=OUTPUT, show_default="standard output", help="Where to, a new file; whole or not at all."
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: Path,
    columns: tuple[str, ...] | None,
    out: str | None,
    force: bool,
    metric: str,
    size: tuple[int, int],
    scale: float,
    light: bool,
    **formats: bool,
) -> None:
    """Write the samples of the recording FILE, one row each: lane, time, and all that was known then.

    Times are seconds since the recording began, memory is bytes, rates are tasks a second. Needs no terminal.

    With --chart it draws them instead, at most 120 columns wide, in colour on a terminal.
    """
    out = None if out == STANDARD_OUTPUT else out
    try:
        format_ = _format(ctx, [name for name, wanted in formats.items() if wanted])
        _check(file, format_, columns, out)
        if out is not None and Path(out).exists() and not force:
            raise ValueError(f'--out: "{out}" is there: expected a new file, or --force')
        recording = load(file)
        if format_ == CHART:
            content = charts_of(recording, to_terminal=out is None and sys.stdout.isatty())
        elif format_ == SLIDE:
            from concwatch.charts.slide import draw_slide
            from concwatch.charts.traces import slide_of

            content = iter((draw_slide(slide_of(recording, metric, not light), size, scale).encode(),))
        else:
            content = FORMATS[format_](recording, columns or COLUMNS)
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None
    if recording.cut:
        print_error(f'"{file}": {recording.cut}')
    if recording.damaged:
        print_error(f'"{file}": lines that could not be read: {recording.damaged:,}')
    if out is None:
        sys.stdout.buffer.writelines(content)
        sys.stdout.buffer.flush()
        return
    try:
        write_atomically(Path(out), b"".join(content))
    except OSError as error:
        print_error(f'"{out}" not written: {error.strerror}')
        sys.exit(1)


def _format(ctx: click.Context, wanted: list[str]) -> str:
    """Return the one format that is wanted; what is typed takes the place of what is kept in the settings.

    Raises:
        ValueError: there is none, or there are several.
    """
    typed = [name for name in wanted if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    wanted = typed or wanted
    if not wanted:
        raise ValueError(f"no format: {NEEDED}")
    if len(wanted) > 1:
        raise ValueError(f"{' and '.join(map(_option, wanted))}: expected one of them")
    return wanted[0]


def _check(file: Path, format_: str, columns: tuple[str, ...] | None, out: str | None) -> None:
    """See that what is wanted can be written.

    Raises:
        ValueError: one line that says why not.
    """
    problem = parquet_problem() if format_ == "parquet" else None
    if problem:
        raise ValueError(problem)
    if format_ in (CHART, SLIDE) and columns is not None:
        raise ValueError(f"--columns with {_option(format_)}: expected it with --csv, --json or --parquet")
    if format_ == CHART and out is None:
        check_chart()
    if out is not None:
        if is_same_file(Path(out), file):
            raise ValueError(f'--out: "{out}" is what is exported: expected another file')
    elif format_ == "parquet" and sys.stdout.isatty():
        raise ValueError("--parquet is not for a terminal: expected --out FILE, or a pipe")


def _option(format_: str) -> str:
    """Return the option of a format as it is typed."""
    return f"--{format_.replace('_', '-')}"
