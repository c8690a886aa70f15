"""The files that an experiment's result goes to: checked before it runs, written after."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.report import Occasion
from concwatch.experiments.report_data import report_csv, report_json
from concwatch.experiments.report_markdown import report_markdown
from concwatch.experiments.report_pyperf import report_pyperf, why_not_pyperf
from concwatch.experiments.runner import Runner
from concwatch.files import write_whole

STANDARD_OUTPUT = "-"

FORMATS: Mapping[str, Callable[[Runner, Occasion], str]] = {
    "json": report_json,
    "markdown": report_markdown,
    "csv": report_csv,
    "pyperf": report_pyperf,
}
"""Name → what writes it. A new format is a line here and an option of the command."""


def check(places: Mapping[str, str], experiment: Experiment) -> None:
    """Check where a result is to go: a path or ``-`` for each of `FORMATS` that is wanted.

    Raises:
        ValueError: one line: a file is wanted twice, or cannot hold this result.
    """
    for problem in _problems(places, experiment):
        raise ValueError(problem)


def _problems(places: Mapping[str, str], experiment: Experiment) -> Iterable[str]:
    taken: dict[str, str] = {}
    for name, place in places.items():
        first = taken.setdefault(place if place == STANDARD_OUTPUT else os.path.realpath(place), name)
        if first != name:
            yield f"--{first} and --{name} both name {place}: expected different files"
    if "pyperf" in places and (why_not := why_not_pyperf(experiment)):
        yield why_not


def save(places: Mapping[str, str], runner: Runner, occasion: Occasion) -> tuple[str, list[str]]:
    """Write all files; return what goes to standard output, and a line for each that could not be written."""
    output, problems = "", []
    for name, place in places.items():
        try:
            text = FORMATS[name](runner, occasion)
            if place == STANDARD_OUTPUT:
                output = text
            else:
                write_whole(Path(place), text)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            problems.append(f'--{name}: "{place}" not written: {why}')
    return output, problems
