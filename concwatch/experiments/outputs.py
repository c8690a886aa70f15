"""The files that an experiment's result goes to: checked before it runs, written after."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.report import Occasion
from concwatch.experiments.report_data import report_csv, report_json
from concwatch.experiments.report_markdown import report_markdown
from concwatch.experiments.report_pyperf import report_pyperf, why_not_pyperf
from concwatch.experiments.runner import Runner
from concwatch.files import why_not_writable, write_whole

STANDARD_OUTPUT = "-"

FORMATS: Mapping[str, Callable[[Runner, Occasion], str]] = {
    "json": report_json,
    "markdown": report_markdown,
    "csv": report_csv,
    "pyperf": report_pyperf,
}
"""Name → what writes it. A new format is a line here and an option of the command."""


@dataclass(frozen=True)
class Output:
    """One place that one format goes to."""

    format: str
    place: str
    """The path of a file, or ``-``."""

    @property
    def standard(self) -> bool:
        """Whether it goes to standard output."""
        return self.place == STANDARD_OUTPUT


def outputs(places: Mapping[str, str | None], experiment: Experiment) -> list[Output]:
    """Choose where the result goes.

    Args:
        places: format → path, or None where it is not wanted.
        experiment: whose result.

    Raises:
        ValueError: one line: a file cannot be written, is wanted twice, or cannot hold this result.
    """
    wanted = [Output(name, place) for name, place in places.items() if place is not None]
    for problem in _problems(wanted, experiment):
        raise ValueError(problem)
    return wanted


def _problems(wanted: Sequence[Output], experiment: Experiment) -> Iterable[str]:
    taken: dict[str, str] = {}
    for output in wanted:
        place = output.place if output.standard else os.path.realpath(output.place)
        first = taken.setdefault(place, output.format)
        if first != output.format:
            yield f"--{first} and --{output.format} both name {output.place}: expected different files"
    for output in wanted:
        problem = why_not_pyperf(experiment) if output.format == "pyperf" else None
        if problem:
            yield problem
        why_not = None if output.standard else why_not_writable(Path(output.place))
        if why_not:
            yield f'--{output.format}: "{output.place}": {why_not}: expected a file that can be written'


def save(wanted: Sequence[Output], runner: Runner, occasion: Occasion) -> tuple[list[str], list[str]]:
    """Write all files.

    Returns:
        What goes to standard output, and a line for each that could not be written.
    """
    texts, problems = [], []
    for output in wanted:
        try:
            text = FORMATS[output.format](runner, occasion)
            if output.standard:
                texts.append(text)
            else:
                write_whole(Path(output.place), text)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            problems.append(f'--{output.format}: "{output.place}" not written: {why}')
    return texts, problems
