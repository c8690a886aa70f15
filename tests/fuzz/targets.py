"""What is fuzzed: each reads any bytes as the program would, uses what it got, and checks the promise."""

import math

import msgspec

from concwatch import wire
from concwatch.experiments import loading as experiments
from concwatch.experiments.experiment import Experiment, How, Series, Table, entries
from concwatch.experiments.readings import READINGS
from concwatch.links import messages
from concwatch.measure.expect import COMPARISONS, EXPECTABLE, read_expectation
from concwatch.measure.units import SCALES
from concwatch.ui.moment import read_moment
from concwatch.units import (
    LARGEST_COUNT,
    LARGEST_SIZE,
    format_count,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
    parse_size,
)
from concwatch.worker.workloads import FORMS, parse
from tests.fuzz import recordings
from tests.fuzz.settings import check_settings
from tests.fuzz.target import Target, refused

FILE = "some.toml"
SCALARS = (str, int, float, bool, type(None))

JSON = (
    '{"',
    '":',
    '","',
    '"}',
    "true",
    "false",
    "null",
    "-1",
    "0.5",
    "1e999",
    "[",
    "]",
    "{",
    "}",
    "\\u",
    "\\n",
)
TOML = (
    "[",
    "]",
    "[[",
    "]]",
    " = ",
    '"',
    "'",
    '"""',
    "\n",
    "true",
    "false",
    "0x",
    "1e999",
    "nan",
    "inf",
    "{",
    "}",
)
NUMBERS = (
    "0",
    "1",
    "9" * 20,
    "k",
    "K",
    "M",
    "GiB",
    "KB",
    "%",
    ".",
    ",000",
    "_000",
    "ms",
    "µs",
    "s",
    "min",
    "/s",
)


def typed(data: bytes) -> str:
    """Return what arrives when these bytes are typed: what is no UTF-8 comes as halves of surrogates."""
    return data.decode(errors="surrogateescape")


def check_command(data: bytes) -> None:
    """What concwatch sends to a worker."""
    try:
        fields = wire.decode(data)
    except ValueError as error:
        refused(error)
        return
    type_ = fields["type"]
    assert isinstance(type_, str)
    assert all(isinstance(value, SCALARS) for value in fields.values())
    rest = {
        key: value for key, value in fields.items() if key.isidentifier() and key not in ("type", "type_")
    }
    if not any(isinstance(value, float) and math.isinf(value) for value in rest.values()):
        assert wire.decode(wire.encode(type_, **rest)) == {"type": type_, **rest}


def check_report(data: bytes) -> None:
    """What a worker sends to concwatch."""
    try:
        report = messages.decode(data)
    except ValueError as error:
        refused(error)
        return
    if report is not None:
        assert messages.decode(msgspec.json.encode(report)) == report


def check_workload(data: bytes) -> None:
    """What each task does."""
    try:
        workload = parse(typed(data))
    except ValueError as error:
        refused(error)
        return
    again = parse(workload.spec)
    assert (again.word, again.values, again.spec) == (workload.word, workload.values, workload.spec)
    for value in workload.values:
        assert isinstance(value, str) or 0 <= value < math.inf, workload.spec  # type: ignore[operator]


def check_number(data: bytes) -> None:
    """Sizes, counts, durations, rates, and moments of a recording."""
    text = typed(data)
    for read, largest in (
        (parse_size, LARGEST_SIZE),
        (lambda text: parse_size(text, 1 << 34), LARGEST_SIZE),
        (parse_count, LARGEST_COUNT),
        (lambda text: parse_count(text, 1_000), 1_000),
        (parse_bytes, LARGEST_SIZE),
        (parse_seconds, LARGEST_COUNT),
        (parse_rate, LARGEST_COUNT),
        (lambda text: read_moment(text, 83.5), 83.5),
        (lambda text: read_moment(text, 0.0), 0.0),
    ):
        try:
            value = read(text)
        except ValueError as error:
            refused(error)
        else:
            assert 0 <= value <= largest
            if read is parse_count:
                assert parse_count(format_count(value)) == value
            if read is parse_size:
                assert parse_size(str(value)) == value


def check_expectation(data: bytes) -> None:
    """What --expect takes."""
    try:
        found = read_expectation(typed(data))
    except ValueError as error:
        refused(error)
        return
    assert found.figure in EXPECTABLE
    assert found.op in COMPARISONS
    assert 0 <= found.value < math.inf
    assert read_expectation(found.text) == found


def check_experiment(data: bytes) -> None:
    """The file of an experiment."""
    try:
        experiment = experiments.decode(data, FILE)
    except ValueError as error:
        refused(error)
        return
    for quick in (False, True):
        for entry in entries(experiment, quick=quick):
            assert entry.size >= 1
            assert entry.cell is None or entry.cell.size == entry.size


def _keys(*structs: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for struct in structs for key in struct.__struct_fields__))


REPORTS = messages.Report.__args__
KINDS_OF_REPORT = [report.__struct_config__.tag for report in REPORTS]

TARGETS: tuple[Target, ...] = (
    Target(
        "commands",
        "the worker's reader of commands",
        check_command,
        (*JSON, '"type"', '"target"', '"tasks"', '"workload"', '"spec"', "\\ud83d", "\\u00e9"),
        300,
    ),
    Target(
        "reports",
        "the lab's reader of reports",
        check_report,
        (
            *JSON,
            '"type"',
            *(f'"{key}"' for key in _keys(*REPORTS)),
            *(f'"{word}"' for word in KINDS_OF_REPORT),
        ),
        500,
    ),
    Target("workloads", "workloads", check_workload, (*FORMS, ":", "x", "KiB", "gb", *NUMBERS), 200),
    Target("numbers", "sizes, counts, durations, rates and moments", check_number, NUMBERS, 100),
    Target(
        "expectations",
        "--expect",
        check_expectation,
        (*EXPECTABLE, *COMPARISONS, "asyncio.", "pool.", *NUMBERS),
        200,
    ),
    Target(
        "experiments",
        "files of experiments",
        check_experiment,
        (*TOML, *_keys(Experiment, How, Table, Series), "[[table]]", "[[table.series]]", *READINGS, *SCALES),
        1_200,
    ),
    Target(
        "settings",
        "the settings file",
        check_settings,
        (*TOML, "[run]", "[screen]", "rate", "max-memory", "tasks", "expect", "engines", "trace"),
        600,
    ),
    Target("recordings", "recordings", recordings.check_recording, recordings.WORDS, 2_500),
    Target("lists", "lists of recordings", recordings.check_list, recordings.WORDS, 2_500),
    Target(
        "results", "what concwatch compare reads", recordings.check_result, recordings.RESULT_WORDS, 2_500
    ),
)
