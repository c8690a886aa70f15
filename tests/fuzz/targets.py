"""The fuzz targets: each reads any bytes as the program does, uses the result, and checks the promises."""

import math
from collections.abc import Mapping
from functools import cache

import click
import msgspec

from concwatch.commands.basics.configuration import SCREEN, resolve, unknown_tables
from concwatch.commands.cli import main
from concwatch.commands.group import NAMES
from concwatch.links import messages
from concwatch.measure.expect import COMPARISONS, EXPECTABLE, Expectation, parse_expectation
from concwatch.measure.experiments import loading as experiments
from concwatch.measure.experiments.cell import READINGS
from concwatch.measure.experiments.experiment import (
    CellOptions,
    Experiment,
    ExperimentSeries,
    ExperimentTable,
    entries,
)
from concwatch.monitor.metrics.unit import SCALES
from concwatch.portable.agent.sending.json_lines import decode, encode
from concwatch.portable.protocol.units import (
    LARGEST_COUNT,
    LARGEST_SIZE,
    format_count,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
    parse_size,
)
from concwatch.portable.protocol.workloads import FORMS, Workload, parse
from concwatch.system.files import read_toml
from concwatch.ui.sources.play_head import parse_moment
from tests.fuzz import recordings
from tests.fuzz.target import FuzzTarget, attempt, one_line

JSON = ('{"', '":', '","', '"}', "[", "]", "{", "}", "\\u", "\\n", '"type"')
JSON += ("true", "false", "null", "-1", "0.5", "1e999")
TOML = ("[", "]", "[[", "]]", " = ", '"', "'", '"""', "\n", "{", "}")
TOML += ("true", "false", "0x", "1e999", "nan", "inf")
NUMBERS = ("0", "1", "9" * 20, "k", "K", "M", "GiB", "KB", "%", ".", ",000", "_000")
NUMBERS += ("ms", "µs", "s", "min", "/s")


def typed(data: bytes) -> str:
    """Return the argument that these bytes are decoded to; invalid UTF-8 becomes surrogates."""
    return data.decode(errors="surrogateescape")


def use_command(fields: Mapping[str, object]) -> None:
    type_ = fields["type"]
    assert isinstance(type_, str)
    assert all(isinstance(value, str | int | float | bool | None) for value in fields.values())
    rest = {
        key: value for key, value in fields.items() if key.isidentifier() and key not in ("type", "type_")
    }
    if not any(isinstance(value, float) and math.isinf(value) for value in rest.values()):
        assert decode(encode(type_, **rest)) == {"type": type_, **rest}


def use_report(report: msgspec.Struct | None) -> None:
    assert report is None or messages.decode(msgspec.json.encode(report)) == report


def use_workload(workload: Workload) -> None:
    parsed = parse(workload.spec)
    assert (parsed.word, parsed.values, parsed.spec) == (workload.word, workload.values, workload.spec)
    for value in workload.values:
        assert isinstance(value, str) or 0 <= value < math.inf, workload.spec


def use_number(text: str) -> None:
    for parse_number, largest in (
        (parse_size, LARGEST_SIZE),
        (lambda text: parse_size(text, 1 << 34), LARGEST_SIZE),
        (parse_count, LARGEST_COUNT),
        (lambda text: parse_count(text, 1_000), 1_000),
        (parse_bytes, LARGEST_SIZE),
        (parse_seconds, LARGEST_COUNT),
        (parse_rate, LARGEST_COUNT),
        (lambda text: parse_moment(text, 83.5), 83.5),
        (lambda text: parse_moment(text, 0.0), 0.0),
    ):

        def use(value: float, parse_number=parse_number, largest=largest) -> None:
            assert 0 <= value <= largest
            if parse_number is parse_count:
                assert parse_count(format_count(value)) == value
            if parse_number is parse_size:
                assert parse_size(str(value)) == value

        attempt(parse_number, text, use)


def use_expectation(expectation: Expectation) -> None:
    assert expectation.metric in EXPECTABLE
    assert expectation.op in COMPARISONS
    assert 0 <= expectation.value < math.inf
    assert parse_expectation(expectation.text) == expectation


def use_experiment(experiment: Experiment) -> None:
    for quick in (False, True):
        for entry in entries(experiment, quick=quick):
            assert entry.size >= 1
            assert entry.cell is None or entry.cell.size == entry.size


@cache
def commands() -> dict[str, click.Command]:
    """Return each command and the screen by name."""
    root = click.Context(main, info_name="concwatch")
    every = {SCREEN: main, **{name: main.get_command(root, name) for name in NAMES}}
    return {name: command for name, command in every.items() if command is not None}


def use_settings(tables: dict[str, object]) -> None:
    """Read the settings of each command."""
    problems = list(unknown_tables(tables, commands()))
    for name, command in commands().items():
        problems += resolve(name, command, tables)[1]
    for problem in problems:
        one_line(" ".join(problem.split()))  # as they are printed


def _keys(*structs: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for struct in structs for key in struct.__struct_encode_fields__))


REPORTS = messages.Report.__args__
REPORT_WORDS = (*_keys(*REPORTS), *(report.__struct_config__.tag for report in REPORTS))
COMMAND_WORDS = ('"target"', '"tasks"', '"workload"', '"spec"', "\\ud83d", "\\u00e9")
EXPERIMENT_WORDS = (
    *_keys(Experiment, CellOptions, ExperimentTable, ExperimentSeries),
    "[[table]]",
    "[[table.series]]",
)
SETTING_WORDS = ["[run]", "[screen]", "rate", "max-memory", "tasks", "expect", "engines", "trace"]

TARGETS: tuple[FuzzTarget, ...] = (
    FuzzTarget(
        "commands",
        "the worker's reader of commands",
        decode,
        use_command,
        (*JSON, *COMMAND_WORDS),
        300,
    ),
    FuzzTarget(
        "reports",
        "the lab's reader of reports",
        messages.decode,
        use_report,
        (*JSON, *(f'"{word}"' for word in REPORT_WORDS)),
        500,
    ),
    FuzzTarget(
        "workloads",
        "workloads",
        lambda data: parse(typed(data)),
        use_workload,
        (*FORMS, ":", "x", "KiB", "gb", *NUMBERS),
        200,
    ),
    FuzzTarget("numbers", "sizes, counts, durations, rates and moments", typed, use_number, NUMBERS, 100),
    FuzzTarget(
        "expectations",
        "--expect",
        lambda data: parse_expectation(typed(data)),
        use_expectation,
        (*EXPECTABLE, *COMPARISONS, "asyncio.", "pool.", *NUMBERS),
        200,
    ),
    FuzzTarget(
        "experiments",
        "files of experiments",
        lambda data: experiments.decode(data, "some.toml"),
        use_experiment,
        (*TOML, *EXPERIMENT_WORDS, *READINGS, *SCALES),
        1_200,
    ),
    FuzzTarget(
        "settings",
        "the settings file",
        lambda data: read_toml(data, "settings.toml"),
        use_settings,
        (*TOML, *SETTING_WORDS),
        600,
    ),
    *recordings.TARGETS,
)
