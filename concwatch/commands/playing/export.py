"""``concwatch export``: write the samples of a recording for other programs, or draw them as charts."""

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from concwatch.charts.table import CHARTS
from concwatch.commands.basics import completion
from concwatch.commands.basics.console import print_error
from concwatch.commands.basics.options import options
from concwatch.commands.basics.values import OUTPUT, STANDARD_OUTPUT, Described, Parsed, number_parser
from concwatch.commands.measuring.chart import check_chart, recording_charts
from concwatch.monitor.metrics.metrics import COLUMNS
from concwatch.recordings.export import FORMATS, read_columns
from concwatch.recordings.load import load
from concwatch.system.files import is_same_file, write_atomically

CHART, SLIDE = "chart", "chart_svg"

SCALE = Parsed("n", number_parser(0.25, 8, "not a scale; expected a number from 0.25 to 8"))


def _read_size(text: str) -> tuple[int, int]:
    from concwatch.charts.painters.slide import parse_size  # imported late, like all modules that draw

    return parse_size(text)


@click.command("export")
@click.argument(
    "file", type=click.Path(path_type=Path), metavar="FILE", shell_complete=completion.complete_recording
)
@options({f"--{name}": {"is_flag": True, "help": row.help} for name, row in FORMATS.items()})
@click.option("--chart", is_flag=True, help="All charts, as plain text.")
@click.option("--chart-svg", is_flag=True, help="One chart, as an SVG picture for a slide.")
@click.option(
    "--metric",
    type=click.Choice([spec.metric for spec in CHARTS]),
    default="rss",
    help="The metric that --chart-svg shows.",
)
@click.option(
    "--size", type=Parsed("pixels", _read_size), default="1280x720", help="Width and height of --chart-svg."
)
@click.option("--scale", type=SCALE, default="1", help="Size of the text in --chart-svg, as a factor.")
@click.option("--light", is_flag=True, help="Draw --chart-svg on a light background.")
@click.option(
    "--columns",
    type=Parsed("column,...", read_columns, lambda: COLUMNS, comma_separated=True),
    cls=Described,
    show_default="all",
    help="Which columns to write.",
)
@click.option(
    "--out",
    type=OUTPUT,
    cls=Described,
    show_default="standard output",
    help="The new file to write. If writing fails, no partial file is left.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
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
    """Write the samples of the recording FILE: one row for each lane and time, with all its values.

    Times are seconds since the start of the recording, memory is in bytes, rates are tasks per second.

    --chart draws charts instead, at most 120 columns wide, in colour on a terminal.
    """
    out = None if out == STANDARD_OUTPUT else out
    try:
        format_ = _format(ctx, [name for name, requested in formats.items() if requested])
        _check(file, format_, columns, out)
        if out is not None and Path(out).exists() and not force:
            raise ValueError(f'--out: file "{out}" exists; --force overwrites it')
        recording = load(file)
        if format_ == CHART:
            content = recording_charts(recording, to_terminal=out is None and sys.stdout.isatty())
        elif format_ == SLIDE:
            from concwatch.charts.painters.slide import draw_slide
            from concwatch.charts.painters.traces import slide_of

            content = iter((draw_slide(slide_of(recording, metric, not light), size, scale).encode(),))
        else:
            content = FORMATS[format_].write(recording, columns or COLUMNS)
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None
    if recording.cut:
        print_error(f'"{file}": {recording.cut}')
    if recording.damaged:
        lines = "line was" if recording.damaged == 1 else "lines were"
        print_error(f'"{file}": {recording.damaged:,} damaged {lines} skipped')
    if out is None:
        sys.stdout.buffer.writelines(content)
        sys.stdout.buffer.flush()
        return
    try:
        write_atomically(Path(out), b"".join(content))
    except OSError as error:
        print_error(f'cannot write "{out}": {error.strerror}')
        sys.exit(1)


def _format(ctx: click.Context, requested: list[str]) -> str:
    """Return the requested format. One on the command line replaces those of the settings.

    Raises:
        ValueError: none or several are requested.
    """
    typed = [name for name in requested if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    requested = typed or requested
    if not requested:
        raise ValueError(f"choose a format: {', '.join(map(_option, (*FORMATS, CHART, SLIDE)))}")
    if len(requested) > 1:
        raise ValueError(f"{' and '.join(map(_option, requested))} cannot be combined")
    return requested[0]


def _check(file: Path, format_: str, columns: tuple[str, ...] | None, out: str | None) -> None:
    """Raise a ValueError, in one line, if the output cannot be written."""
    row = FORMATS.get(format_)
    problem = row.problem() if row and row.problem else None
    if problem:
        raise ValueError(problem)
    if row is None and columns is not None:
        *others, last = map(_option, FORMATS)
        raise ValueError(
            f"--columns cannot be used with {_option(format_)}; expected {', '.join(others)} or {last}"
        )
    if format_ == CHART and out is None:
        check_chart()
    if out is not None:
        if is_same_file(Path(out), file):
            raise ValueError(f'--out: "{out}" is the recording itself')
    elif row and not row.is_text and sys.stdout.isatty():
        raise ValueError(f"{_option(format_)} cannot be printed on a terminal; use --out FILE or a pipe")


def _option(format_: str) -> str:
    """Return the option that selects a format."""
    return f"--{format_.replace('_', '-')}"
