"""Options that come from a file and from variables: which counts, and one line for whatever is wrong."""

import json
import os
import re
import subprocess
import sys
from collections import Counter

import click
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concwatch.cli import main
from concwatch.commands.group import NAMES, Commands
from concwatch.commands.setting import SCREEN, settings_of
from concwatch.commands.sources import Given, as_arguments, why_not
from concwatch.lab.catalog import ROOT
from concwatch.lab.fake import FakeWorkers
from concwatch.lab.lab import Lab

QUICK = ("run", "asyncio", "--tasks", "10", "--seconds", "0.1", "--json")


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """The settings file, which is not there yet, in a world without other settings."""
    for name in [name for name in os.environ if name.startswith("CONCWATCH_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "settings.toml"
    path.touch()
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(path))
    return path


@pytest.fixture
def fakes(monkeypatch):
    """Have the lab start fake workers, and measure with less care."""
    workers = FakeWorkers()
    monkeypatch.setitem(Lab.__init__.__kwdefaults__, "open_link", workers)
    monkeypatch.setattr("concwatch.lab.run.SETTLE", 0.1)
    return workers


def invoke(*arguments, env=None, group=main):
    return CliRunner().invoke(group, arguments, env=env)


def problem(*arguments, env=None):
    """Check that a command was refused as bad input is, and give the one line it said."""
    done = invoke(*arguments, env=env)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("concwatch: ")
    return line


def told(env=None, status=0):
    """Give what ``concwatch settings --json`` prints."""
    done = invoke("settings", "--json", env=env)
    assert done.exit_code == status, done.output
    assert [f"concwatch: {line}" for line in json.loads(done.stdout)["problems"]] == done.stderr.splitlines()
    return json.loads(done.stdout)


def row(command, key, env=None):
    (found,) = [row for row in told(env)["settings"] if (row["command"], row["key"]) == (command, key)]
    return found["value"], found["source"]


def screen(*arguments):
    """The values with which the screen would start."""
    return main.make_context("concwatch", list(arguments)).params


# Where values come from.


def test_without_any_settings_there_are_defaults(file, monkeypatch):
    file.unlink()
    monkeypatch.delenv("CONCWATCH_SETTINGS")
    monkeypatch.setattr("concwatch.commands.sources.settings_path", lambda environ: file)
    assert screen()["rate"] == 10
    assert row("screen", "rate") == ("10", "default")
    assert row("run", "refill") == (True, "default")
    assert row("run", "tasks") == (None, "default")


def test_a_file_sets_what_the_command_line_leaves(file):
    file.write_text('[screen]\nrate = 5\nengines = "asyncio,threads"\nmax-memory = "1GiB"\n')
    values = screen()
    assert values["rate"] == 5
    assert [engine.name for engine in values["engines"]] == ["asyncio", "threads"]
    assert values["max_memory"] == 1 << 30
    assert row("screen", "rate") == ("5", "file")


def test_a_variable_goes_before_the_file_and_the_command_line_before_both(file, monkeypatch):
    file.write_text("[screen]\nrate = 5\n")
    monkeypatch.setenv("CONCWATCH_SCREEN_RATE", "7")
    assert screen()["rate"] == 7
    assert screen("--rate", "9")["rate"] == 9
    assert row("screen", "rate") == ("7", "variable")
    monkeypatch.setenv("CONCWATCH_SCREEN_RATE", "")  # as good as none
    assert screen()["rate"] == 5


def test_a_required_option_can_be_set_and_all_of_them_reach_the_run(file, fakes):
    file.write_text(
        '[run]\ntasks = 40\nworkload = "hold"\nseconds = 0.1\nrefill = false\ntrace = true\n'
        'gc = "off"\npool_threads = 9\njson = true\nexpect = ["pool.failed <= 0", "pool.peak_live >= 40"]\n'
    )
    done = invoke("run", "pool")
    assert done.exit_code == 0, done.output
    assert [verdict["holds"] for verdict in json.loads(done.stdout)["expect"]] == [True, True]
    for command in (
        ("refill", {"on": False}), ("trace", {"on": True}), ("gc", {"mode": "off"}),
        ("threads", {"count": 9}), ("target", {"tasks": 40}),
    ):  # fmt: skip
        assert command in fakes.links["pool"].sent


@pytest.mark.usefixtures("fakes")
def test_what_is_typed_takes_the_place_of_a_list(file):
    file.write_text('[run]\nexpect = ["asyncio.created <= 0"]\n')
    assert invoke(*QUICK).exit_code == 1
    done = invoke(*QUICK, "--expect", "asyncio.created >= 10")
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)["expect"]) == 1


@pytest.mark.usefixtures("fakes")
def test_a_variable_has_semicolons_between_the_values_of_a_list():
    done = invoke(*QUICK, env={"CONCWATCH_RUN_EXPECT": "asyncio.created >= 10; asyncio.failed <= 0;"})
    assert [one["expect"] for one in json.loads(done.stdout)["expect"]] == [
        "asyncio.created >= 10", "asyncio.failed <= 0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", True), ("true", True), ("Yes", True), ("ON", True),
        ("0", False), ("false", False), ("no", False), (" off ", False),
    ],
)  # fmt: skip
def test_a_flag_is_switched_by_a_word(text, value):
    assert row("run", "refill", {"CONCWATCH_RUN_REFILL": text}) == (value, "variable")


def test_screen_options_before_a_command_are_still_refused_but_not_those_of_a_file(file):
    file.write_text("[screen]\nrate = 5\n")
    assert invoke("engines").exit_code == 0
    assert 'options of "engines"' in problem("--rate", "5", "engines")


def test_the_file_is_in_the_users_configuration_folder(file, tmp_path):
    env = {name: text for name, text in os.environ.items() if name != "CONCWATCH_SETTINGS"}
    env |= {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": ROOT}

    def ask():
        command = [sys.executable, "-m", "concwatch", "settings", "--json"]
        return json.loads(
            subprocess.run(command, env=env, capture_output=True, timeout=60, check=True).stdout
        )

    found = ask()
    assert (found["there"], found["problems"]) == (False, [])
    assert found["file"].endswith(os.path.join("concwatch", "settings.toml"))
    os.makedirs(os.path.dirname(found["file"]))
    file.write_text("[screen]\nrate = 5\n")
    file.rename(found["file"])
    found = ask()
    assert found["there"]
    assert {(row["key"], row["value"]) for row in found["settings"] if row["source"] == "file"} == {
        ("rate", "5")
    }


# What is wrong.

TABLE_PROBLEMS = [
    ("rate = fast", "not TOML"),
    ("\n\nrate =", "line 3"),
    ("a = 1\na = 2", "line 2"),
    ("x = " + "[" * 5_000, "not TOML"),
    ("x = " + "1" * 5_000, "not TOML"),
    ("[rnu]\ntasks = 5", "rnu: unknown command: expected one of the tables [screen]"),
    ("[rnu]\ntasks = 5", 'did you mean "run"?'),
    ("run = 5", "run: expected a table: a line [run]"),
    ("[[run]]\ntasks = 5", "run: expected a table"),
    ("rate = 5", "rate: unknown command"),
]
RUN_PROBLEMS = [
    ("max-memry = 5", '[run] max-memry: unknown option: expected one of tasks'),
    ("max-memry = 5", 'did you mean "max-memory"?'),
    ("max-memory = 5\nmax_memory = 6", 'max_memory: a second value: expected one, and there is "max-memory"'),
    ("help = true", "[run] help: unknown option"),
    ("tasks = -1", '[run] tasks: "-1" is not a number of tasks: expected a whole number'),
    ("tasks = 0x" + "f" * 5_000, "[run] tasks: "),
    ("tasks = nan", '"nan" is not a number of tasks'),
    ("tasks = true", 'true or false: expected text or a number, as "--tasks N" takes it'),
    ("tasks = [5]", 'a list: expected text or a number, as "--tasks N" takes it'),
    ("tasks = {a = 5}", "a table: expected text or a number"),
    ("tasks = 2026-11-21", "a date or time: expected text or a number"),
    ('tasks = "a\\u0000b"', "null"),
    ('tasks = "a\\nb"', '"a b" is not a number of tasks'),
    ('trace = "yes"', '[run] trace: "yes": expected true or false'),
    ("trace = 1", '"1": expected true or false'),
    ("trace = []", "a list: expected true or false"),
    ('gc = "frozn"', '[run] gc: unknown collector mode "frozn"'),
    ('expect = "asyncio.failed <= 0"', 'expected a list, with what "--expect EXPECTATION" takes'),
    ("expect = [5, [6]]", "a list: expected text or a number"),
    ('expect = ["asyncio.failed"]', '[run] expect: "asyncio.failed" expects nothing'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [*TABLE_PROBLEMS, *((f"[run]\n{text}", expected) for text, expected in RUN_PROBLEMS)],
)
def test_a_wrong_file_is_one_line_that_names_it_and_what_was_expected(file, text, expected):
    file.write_text(text)
    line = problem(*QUICK)
    assert line.startswith(f"concwatch: {file}: ")
    assert expected in line
    assert f"concwatch: {told(status=2)['problems'][0]}" == " ".join(line.split())


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("RATE", "5", 'unknown option: expected one of tasks'),
        ("MAX_MEMRY", "5", 'did you mean "max-memory"?'),
        ("HELP", "1", "unknown option"),
        ("TASKS", "many", '"many" is not a number of tasks'),
        ("TASKS", "x\ny", '"x y" is not a number of tasks'),
        ("TRACE", "maybe", '"maybe": expected one of 1, true, yes, on, 0, false, no, off'),
        ("EXPECT", "asyncio.failed <= 0; asyncio", '"asyncio" expects nothing'),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_one_line_that_names_it_and_what_was_expected(variable, text, expected):
    env = {f"CONCWATCH_RUN_{variable}": text}
    line = problem(*QUICK, env=env)
    assert line.startswith(f"concwatch: CONCWATCH_RUN_{variable}: ")
    assert expected in line
    assert told(env, 2)["problems"]


@pytest.mark.parametrize(
    ("key", "value", "arguments"),
    [
        ("RUN_RECORD", "/nowhere/x", QUICK),
        ("RUN_EXPECT", "threads.failed <= 0", QUICK),
        ("RUN_CHART", "yes", QUICK),
        ("SERVE_HOST", "no.such.host.invalid", ("serve",)),
        ("DEMO_ALL", "1", ("demo", "small")),
    ],
)
def test_what_turns_out_wrong_later_says_where_it_was_set(file, key, value, arguments):
    line = problem(*arguments, env={f"CONCWATCH_{key}": value})
    assert f"; set by CONCWATCH_{key}" in line
    command, _, option = key.lower().partition("_")
    written = "true" if value in ("yes", "1") else f'["{value}"]' if option == "expect" else f'"{value}"'
    file.write_text(f"[{command}]\n{option} = {written}\n")
    assert f"; set by {file}: [{command}] {option}" in problem(*arguments)


def test_a_value_that_can_be_read_in_another_is_not_blamed_for_it():
    env = {"CONCWATCH_RUN_SECONDS": "0", "CONCWATCH_RUN_EXPECT": "threads.failed <= 0"}
    assert problem("run", "asyncio", "--tasks", "3", env=env).endswith(
        "; set by CONCWATCH_RUN_EXPECT (see concwatch run --help)"
    )


def test_what_the_command_line_says_is_not_blamed_on_a_variable():
    line = problem(*QUICK, "--record", "/nowhere/y", env={"CONCWATCH_RUN_RECORD": "/nowhere/x"})
    assert "/nowhere/y" in line
    assert "set by" not in line


def test_a_page_has_the_options_that_serve_gave_it_and_none_of_the_screens(file, monkeypatch):
    file.write_text('[screen]\nengines = "asyncio"\nrecord = "x.jsonl"\n')
    monkeypatch.setattr("concwatch.commands.group.in_page", lambda: True)
    assert screen()["engines"] is None
    assert screen()["record"] is None
    assert screen("--rate=5")["rate"] == 5


def test_what_is_wrong_elsewhere_does_not_stop_a_command_but_settings_tells(file):
    file.write_text('[run]\ntasks = "many"\n[screen]\nrate = 99\n')
    assert invoke("engines", env={"CONCWATCH_RUNS_TASKS": "5"}).exit_code == 0
    found = told({"CONCWATCH_RUNS_TASKS": "5"}, 2)["problems"]
    assert [" ".join(line.split()[:3]) for line in found] == [
        "CONCWATCH_RUNS_TASKS: unknown command:",
        f"{file}: [screen] rate:",
        f"{file}: [run] tasks:",
    ]
    assert 'behind CONCWATCH_; did you mean "run"?' in found[0]


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("run", "--help"), ("run", "asyncio", "-h")]
)
def test_help_is_there_whatever_is_wrong(file, arguments):
    file.write_text("nonsense")
    done = invoke(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "dynamic" not in done.stdout


def test_a_wrong_argument_is_told_as_ever(file):
    file.write_text("[run]\ntasks = 5\n")
    assert "No such option" in problem("run", "--tofether")
    assert 'did you mean "run"?' in problem("rnu")


def test_a_file_that_cannot_be_read_is_told_unless_nobody_named_it(file, monkeypatch):
    folder = file.parent
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(folder))
    assert problem("engines").startswith(f"concwatch: {folder}: Is a directory")
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(folder / "none.toml"))
    assert "none.toml: No such file or directory: expected a settings file, named by" in problem("engines")
    assert told(status=2)["there"] is False
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(folder / "settings.toml" / "below"))
    assert "Not a directory" in problem("engines")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"# fine\n\n# caf\xe9\n"])
def test_a_file_that_is_no_text_is_told_with_its_line(file, data):
    file.write_bytes(data)
    lines = data.count(b"\n")
    assert problem("engines").endswith(f"{file}: not TOML: no UTF-8 (at line {lines or 1})")


def test_the_mark_that_some_editors_put_first_is_no_text(file):
    file.write_bytes(b"\xef\xbb\xbf[screen]\r\nrate = 5\r\n")
    assert screen()["rate"] == 5


TOML = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.dates()
    | st.datetimes()
    | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from((*NAMES, SCREEN)) | st.text(),
    key=st.sampled_from(("tasks", "rate", "expect", "trace", "json", "max_memory", "sizes")) | st.text(),
    value=TOML,
)
def test_whatever_stands_in_a_file_is_taken_or_told_a_line_each(monkeypatch, command, key, value):
    monkeypatch.setattr(
        "concwatch.commands.sources.read_settings_file", lambda path, named: {command: {key: value}}
    )
    done = invoke("settings")
    assert done.exit_code in (0, 2), done.output
    lines = done.stderr.splitlines()
    assert all(line.startswith("concwatch: ") for line in lines)
    assert bool(lines) is (done.exit_code == 2)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary() | st.text(alphabet="[]run.=\n \"'12{},#").map(str.encode))
def test_whatever_a_file_is_no_command_ends_in_a_traceback(file, data):
    file.write_bytes(data)
    done = invoke("engines")
    assert done.exit_code in (0, 2), done.output
    assert len(done.stderr.splitlines()) == (1 if done.exit_code else 0)


# What is printed.


def test_every_value_is_printed_with_where_it_comes_from(file):
    file.write_text('[screen]\nrate = 5\n[run]\nexpect = ["asyncio.failed <= 0", "pool.failed <= 0"]\n')
    done = invoke("settings", env={"CONCWATCH_RUN_TASKS": "10k"})
    assert (done.exit_code, done.stderr) == (0, "")
    first, blank, *lines = done.stdout.splitlines()
    assert (first, blank, lines[0]) == (f"settings file: {file}", "", "[screen]")
    cells = [[cell.strip() for cell in line.split("  ") if cell] for line in lines]
    assert ["rate", "5", str(file)] in cells
    assert ["tasks", "10k", "CONCWATCH_RUN_TASKS"] in cells
    assert ["expect", "asyncio.failed <= 0, pool.failed <= 0", str(file)] in cells
    assert ["workload", "sleep:10", "default"] in cells
    assert ["together", "false", "default"] in cells
    assert ["max-memory", "80%", "default"] in cells
    assert ["columns", "all", "default"] in cells
    assert ["record", "–", "default"] in cells


@pytest.mark.parametrize(
    ("make", "state", "there"),
    [
        (lambda file: file.write_text("[run]\ntasks = 1\ntasks = 2\n"), " (not read: see below)", True),
        (lambda file: (file.unlink(), file.mkdir()), " (not read: see below)", True),
        (lambda file: (file.unlink(), file.symlink_to("nothing")), " (not read: see below)", True),
        (lambda file: file.unlink(), " (not there)", False),
    ],
)
def test_a_file_that_cannot_be_read_is_not_called_absent(file, make, state, there):
    make(file)
    assert invoke("settings").stdout.splitlines()[0] == f"settings file: {file}{state}"
    assert told(status=2)["there"] is there


def test_values_are_printed_beside_what_is_wrong(file):
    file.write_text("[screen]\nrate = 99\nengines = 'pool'\n")
    done = invoke("settings")
    assert done.exit_code == 2
    assert f"{file}: [screen] rate: " in done.stderr
    assert "pool" in done.stdout


def test_what_was_set_is_part_of_how_an_experiment_was_called(file, tmp_path):
    file.write_text('[experiment]\nquick = true\nsizes = "1,10"\nrepeats = 2\n')
    command = main.get_command(main.make_context("concwatch", ["engines"]), "experiment")
    values = {"quick": True, "sizes": "1,10", "repeats": "2"}
    ctx = command.make_context("experiment", ["gc-cost", "--repeats", "3"], default_map=values)
    assert ctx.obj == "experiment gc-cost --repeats 3 --quick --sizes 1,10"


# All commands, those to come as well.

SAMPLES = (
    "5", "asyncio", "1GiB", "sleep:1", "default", "asyncio.failed <= 0", "80x24", "svg", "1,10", "0.5",
    "127.0.0.1",
)  # fmt: skip
"""Values of which every option takes one, unless its help or its refusal names one."""


def every_setting():
    root = click.Context(main)
    commands = {SCREEN: main, **{name: main.get_command(root, name) for name in NAMES}}
    return [
        (setting, click.Context(command, info_name=name))
        for name, command in commands.items()
        for setting in settings_of(name, command).values()
    ]


def sample(setting, ctx):
    """Give a value that the option takes, as a file has it."""
    option = setting.option
    if option.is_flag:
        return True
    queue = [*SAMPLES, *re.findall(r"[\w.:-]+", f"{option.metavar} {option.help}")]
    for text in queue:
        value = [text] * option.nargs if option.nargs != 1 else text
        value = [value] if option.multiple else value
        refusal = why_not(ctx, Given(setting, value, "file", ""))
        if refusal is None:
            return value
        queue += [word for word in re.findall(r"[\w.:-]+", refusal) if word not in queue]
    pytest.fail(f"no sample for --{setting.key} of {setting.command}")


def test_every_option_of_every_command_can_be_set_by_file(file):
    rows = [(setting, sample(setting, ctx)) for setting, ctx in every_setting()]
    lines = []
    for name in (SCREEN, *NAMES):
        lines.append(f"[{name}]")
        lines += [
            f"{setting.key} = {json.dumps(value)}" for setting, value in rows if setting.command == name
        ]
    file.write_text("\n".join(lines))
    found = by_variable(told())
    assert found == {setting.variable: (value, "file") for setting, value in rows}


def test_every_option_of_every_command_can_be_set_by_variable():
    def text(value):
        parts = value if isinstance(value, list) else [value]
        return ";".join(str(one) for part in parts for one in (part if isinstance(part, list) else [part]))

    rows = [(setting, sample(setting, ctx)) for setting, ctx in every_setting()]
    found = by_variable(told({setting.variable: text(value) for setting, value in rows}))
    assert found == {setting.variable: (value, "variable") for setting, value in rows}


def by_variable(said):
    return {row["variable"]: (row["value"], row["source"]) for row in said["settings"]}


def test_no_two_options_share_a_name_and_none_is_taken():
    names = Counter(setting.variable for setting, _ in every_setting())
    assert max(names.values()) == 1
    assert "CONCWATCH_SETTINGS" not in names
    assert SCREEN not in NAMES
    keys = {setting.key for setting, _ in every_setting()}
    assert keys >= {"rate", "engines", "max-memory", "tasks", "expect", "json"}
    assert not keys & {"help", "version"}


# Options of kinds that come one day.


def even(ctx, option, value):
    if value is not None and value % 2:
        raise click.BadParameter("expected an even number")
    return value


@click.command("toy")
@click.option("--svg", "form", flag_value="svg", default=True)
@click.option("--gif", "form", flag_value="gif")
@click.option("--size", nargs=2, type=int)
@click.option("--pair", nargs=2, multiple=True)
@click.option("--word", multiple=True)
@click.option("-v", "--verbose", count=True)
@click.option("--mode", type=click.Choice(["fast", "slow"]))
@click.option("--even", type=int, callback=even)
@click.option("--open/--shut", "open_", default=True)
@click.pass_context
def toy(ctx, **values):
    given = {name: value for name, value in values.items() if value or value is False}
    click.echo(json.dumps([given, as_arguments(ctx)]))


class Toys(Commands):
    """A program with one command, whose options are of all kinds."""

    def list_commands(self, ctx):
        return ["toy"]

    def get_command(self, ctx, name):
        return toy if name == "toy" else None


TOYS = Toys("toys", invoke_without_command=True)
PLAIN = {"form": "svg", "open_": True}


@pytest.mark.parametrize(
    ("text", "values", "arguments"),
    [
        ("", {}, []),
        ("gif = true", {"form": "gif"}, ["--gif"]),
        ("gif = false", {}, []),
        ("size = [3, 4]", {"size": [3, 4]}, ["--size", "3", "4"]),
        ('pair = [["a", "b"], ["c", "d"]]', {"pair": [["a", "b"], ["c", "d"]]},
         ["--pair", "a", "b", "--pair", "c", "d"]),
        ('word = ["a", "b"]', {"word": ["a", "b"]}, ["--word", "a", "--word", "b"]),
        ("verbose = 2", {"verbose": 2}, ["--verbose", "--verbose"]),
        ('mode = "slow"', {"mode": "slow"}, ["--mode", "slow"]),
        ("even = 4", {"even": 4}, ["--even", "4"]),
        ("open = false", {"open_": False}, ["--shut"]),
        ("open = true", {}, ["--open"]),
    ],
)  # fmt: skip
def test_options_of_all_kinds_are_set_by_file(file, text, values, arguments):
    file.write_text(f"[toy]\n{text}\n")
    done = invoke("toy", group=TOYS)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == [{**PLAIN, **values}, arguments]


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("GIF", "yes", {"form": "gif"}),
        ("SIZE", "3;4", {"size": [3, 4]}),
        ("PAIR", "a;b; c;d", {"pair": [["a", "b"], ["c", "d"]]}),
        ("OPEN", "no", {"open_": False}),
    ],
)
def test_options_of_all_kinds_are_set_by_variable(name, text, values):
    done = invoke("toy", group=TOYS, env={f"CONCWATCH_TOY_{name}": text})
    assert json.loads(done.stdout)[0] == {**PLAIN, **values}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size = [3]", "[toy] size: "),
        ('size = [3, "x"]', "[toy] size: "),
        ("pair = [3, 4]", '[toy] pair: "3": expected a list'),
        ('mode = "slwo"', "[toy] mode: 'slwo' is not one of 'fast', 'slow'"),
        ("even = 5", "[toy] even: expected an even number"),
    ],
)
def test_what_their_own_checks_refuse_is_told(file, text, expected):
    file.write_text(f"[toy]\n{text}\n")
    done = invoke("toy", group=TOYS)
    assert (done.exit_code, done.stdout) == (2, "")
    assert expected in done.stderr


def test_of_flags_that_share_a_parameter_the_nearer_source_counts(file):
    file.write_text("[toy]\ngif = true\n")

    def form(*arguments, **variables):
        env = {f"CONCWATCH_TOY_{name}": text for name, text in variables.items()}
        return json.loads(invoke("toy", *arguments, group=TOYS, env=env).stdout)[0]["form"]

    assert (form(), form(GIF="0"), form(SVG="1"), form("--svg")) == ("gif", "svg", "svg", "svg")
