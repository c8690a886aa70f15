"""Options set in a file or by variables: which one applies, and one line for each error."""

import json
import os
import re
import tomllib
from pathlib import Path

import click
import pytest

from concwatch.commands.basics.configuration import SCREEN, options_of, prefix, variable
from concwatch.commands.cli import main
from concwatch.commands.group import NAMES
from tests.command_line import invoke, refused

RUN = ("run", "asyncio", "--tasks", "10")


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """Return an empty settings file. No other settings are set."""
    for name in [name for name in os.environ if name.startswith("CONCWATCH_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "settings.toml"
    path.touch()
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(path))
    return path


def settings(env=None, status=0):
    """Return what ``concwatch settings --json`` prints."""
    done = invoke("settings", "--json", env=env)
    assert done.exit_code == status, done.output
    assert [f"concwatch: {line}" for line in json.loads(done.stdout)["problems"]] == done.stderr.splitlines()
    return json.loads(done.stdout)


def configured(found):
    """Return the values that do not come from defaults, by variable, with their source."""
    rows = [row for row in found["settings"] if row["source"] != "default"]
    return {row["variable"]: (row["value"], row["source"]) for row in rows}


def values_of(command, *arguments):
    """Return the values with which a command, or the screen, would run."""
    if command == SCREEN:
        return main.make_context("concwatch", list(arguments)).params
    seen = {}
    own = main.get_command(click.Context(main), command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "callback", lambda *_, **values: seen.update(values))
        done = invoke(command, *arguments)
    assert done.exit_code == 0, done.output
    return seen


# Sources of values.


def test_the_command_line_overrides_variables_which_override_the_file(file, monkeypatch):
    assert values_of(SCREEN)["rate"] == 10
    file.write_text('[screen]\nrate = 5\nmax-memory = "1GiB"\n[run]\nseconds = 0.5\ntrace = true\n')
    assert (values_of(SCREEN)["rate"], values_of(SCREEN)["max_memory"]) == (5, 1 << 30)
    assert (values_of(*RUN)["seconds"], values_of(*RUN)["trace"]) == (0.5, True)
    monkeypatch.setenv("CONCWATCH_SCREEN_RATE", "7")
    monkeypatch.setenv("CONCWATCH_RUN_TRACE", "no")
    assert (values_of(SCREEN)["rate"], values_of(*RUN)["trace"]) == (7, False)
    assert (values_of(SCREEN, "--rate", "9")["rate"], values_of(*RUN, "--trace")["trace"]) == (9, True)
    assert configured(settings()) == {
        "CONCWATCH_SCREEN_RATE": ("7", "variable"),
        "CONCWATCH_SCREEN_MAX_MEMORY": ("1GiB", "file"),
        "CONCWATCH_RUN_SECONDS": ("0.5", "file"),
        "CONCWATCH_RUN_TRACE": (False, "variable"),
    }
    monkeypatch.setenv("CONCWATCH_SCREEN_RATE", "")  # the same as unset
    assert values_of(SCREEN)["rate"] == 5
    # A required option can be configured, with hyphens or underscores.
    file.write_text("[run]\ntasks = 40\npool_threads = 9\nrefill = false\n")
    values = values_of("run", "pool")
    assert (values["tasks"], values["pool_threads"], values["refill"]) == ((40,), 9, False)


def test_a_repeatable_option_is_a_list_or_separated_by_semicolons_and_replaced_as_a_whole(file, monkeypatch):
    def expected(*arguments):
        return [one.text for one in values_of(*RUN, *arguments)["expect"]]

    file.write_text('[run]\nexpect = ["pool.failed <= 0", "pool.peak_live >= 40"]\n')
    assert expected() == ["pool.failed <= 0", "pool.peak_live >= 40"]
    monkeypatch.setenv("CONCWATCH_RUN_EXPECT", "asyncio.created >= 10; asyncio.failed <= 0;")
    assert expected() == ["asyncio.created >= 10", "asyncio.failed <= 0"]
    assert expected("--expect", "asyncio.failed <= 1") == ["asyncio.failed <= 1"]


def test_a_format_on_the_command_line_replaces_a_configured_one(file):
    file.write_text("[export]\ncsv = true\n")
    assert "nowhere.jsonl" in refused("export", "nowhere.jsonl", "--json")
    assert "--csv and --json cannot be combined" in refused("export", "nowhere.jsonl", "--csv", "--json")


def test_commands_use_only_the_recordings_folder_of_the_screens_settings(file):
    file.write_text('[screen]\nrate = 99\nrecordings = "elsewhere"\n')
    assert invoke("figures", env={"CONCWATCH_SCREEN_MAX_MEMORY": "much"}).exit_code == 0
    assert 'no recordings in "elsewhere"' in invoke("recordings").output


def test_a_page_uses_the_options_of_serve_and_no_screen_settings(file, monkeypatch):
    monkeypatch.setenv("CONCWATCH_SCREEN_RECORD", "y.jsonl")
    file.write_text('[screen]\nengines = "asyncio"\n')
    monkeypatch.setattr("concwatch.commands.group.in_page", lambda: True)
    values = values_of(SCREEN, "--rate=5")
    assert (values["engines"], values["record"], values["rate"]) == (None, None, 5)


def test_serve_passes_its_settings_to_the_program_of_a_page(file, monkeypatch):
    passed = []
    monkeypatch.setattr("concwatch.commands.screens.serve.run_until_signal", lambda _: (None, 0))
    monkeypatch.setattr(
        "concwatch.commands.screens.serve._serve", lambda _, options, *more: passed.append(options)
    )
    file.write_text('[serve]\nport = 0\nrate = 5\nengines = "asyncio,threads"\n[screen]\nrate = 9\n')
    typed = ("--tasks=asyncio=1k", "--workload=hold", "--no-refill", "--trace", "--gc=off", "--window=2min")
    invoke("serve", *typed, "--theme=nord", env={"CONCWATCH_SERVE_MAX_MEMORY": "1GiB"})
    configured = ["--engines=asyncio,threads", "--max-memory=1GiB", "--rate=5"]
    assert passed == [[*typed, "--theme=nord", *configured]]
    assert '"2XB" is not a size' in refused("serve", "--max-memory", "2XB")


def test_the_command_line_in_a_report_includes_settings(file, monkeypatch):
    file.write_text('[experiment]\nquick = true\nsizes = "1,10"\nrepeats = 2\n')
    called = []
    monkeypatch.setattr("concwatch.commands.measuring.experiment.RunInfo.now", called.append)
    monkeypatch.setattr(
        "concwatch.commands.measuring.experiment.run_until_signal", lambda work: work.close() or 1 / 0
    )
    invoke("experiment", "gc-cost", "--repeats", "3", env={"CONCWATCH_EXPERIMENT_MARKDOWN": "-"})
    assert called == ["concwatch experiment gc-cost --repeats 3 --quick --sizes 1,10 --markdown -"]


def test_the_default_file_is_in_the_users_configuration_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CONCWATCH_SETTINGS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = Path(invoke("settings", "--init").stdout.strip())
    assert path.parts[-2:] == ("concwatch", "settings.toml")
    path.write_text("[screen]\nrate = 5\n")
    found = settings()
    assert (found["file"], found["there"]) == (str(path), True)
    assert configured(found) == {"CONCWATCH_SCREEN_RATE": ("5", "file")}


# Errors.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\n\nrate =", "not TOML: "),
        (b"# fine\n\n# caf\xe9\n", "not TOML: not UTF-8 (at line 3)"),
        (b"x = " + b"[" * 5_000, "not TOML"),
        (b"[rnu]\ntasks = 5", 'unknown table "rnu"; did you mean "run"? expected one of screen, attach'),
        (b"run = 5", "run is not a table; options stand below a line [run]"),
        (
            b"[run]\nmax-memry = 5",
            '[run] unknown option "max-memry"; did you mean "max-memory"? expected one of tasks',
        ),
        (b"[run]\nhelp = true", '[run] unknown option "help"'),
        (b"[run]\ntasks = -1", '[run] tasks: "-1" is not a number of tasks'),
        (b"[run]\ntasks = 0x" + b"f" * 5_000, "[run] tasks has too many digits"),
        (b"[run]\ntasks = true", '[run] tasks is not text or a number, as for "--tasks N[,N...]"'),
        (b"[run]\nrecord = 2026-11-21", "[run] record is not text or a number"),
        (b'[run]\nrecord = "a\\u0000b"', "[run] record contains a null character"),
        (b'[run]\ntasks = "a\\nb"', '[run] tasks: "a b" is not a number of tasks'),
        (b'[run]\ntrace = "yes"', "[run] trace is not true or false"),
        (b'[run]\nexpect = "pool.failed <= 0"', '[run] expect is not a list, as for "--expect'),
        (b'[run]\nexpect = ["asyncio.failed"]', '[run] expect: "asyncio.failed" is not an expectation'),
    ],
)
def test_an_invalid_file_is_refused_with_one_line_naming_it_and_what_is_expected(file, text, message):
    file.write_bytes(text)
    line = refused("run", "asyncio", *(() if "] tasks" in message else ("--tasks", "10")))
    assert line.startswith(f"{file}: {message}")
    assert " ".join(line.split()).startswith(settings(status=2)["problems"][0])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("MAX_MEMRY", "5", 'unknown option "max-memry"; did you mean "max-memory"? expected one of tasks'),
        ("TASKS", "x\ny", '"x y" is not a number of tasks'),
        ("TRACE", "maybe", "'maybe' is not a valid boolean"),
        ("EXPECT", "asyncio.failed <= 0; asyncio", '"asyncio" is not an expectation'),
    ],
)
def test_an_invalid_variable_is_refused_with_one_line_naming_it_and_what_is_expected(name, text, message):
    env = {"CONCWATCH_RUN_TASKS": "10", f"CONCWATCH_RUN_{name}": text}
    line = refused("run", "asyncio", env=env)
    assert line.startswith(f"CONCWATCH_RUN_{name}: {message}")
    assert line.startswith(settings(env, 2)["problems"][0])


@pytest.mark.parametrize(
    ("key", "value", "arguments"),
    [
        ("RUN_RECORD", "/nowhere/x", RUN),
        ("RUN_EXPECT", "threads.failed <= 0", RUN),
        ("RUN_CHART", True, (*RUN, "--json")),
        ("SERVE_HOST", "no.such.host.invalid", ("serve",)),
        ("DEMO_ALL", True, ("demo", "small")),
    ],
)
def test_errors_found_later_name_the_source_of_the_value(file, key, value, arguments):
    line = refused(*arguments, env={f"CONCWATCH_{key}": str(value), "CONCWATCH_RUN_SECONDS": "0"})
    assert f"; set by CONCWATCH_{key} (see" in line
    command, _, option = key.lower().partition("_")
    file.write_text(f"[{command}]\n{option} = {json.dumps([value] if option == 'expect' else value)}\n")
    assert f"; set by {file}: [{command}] {option} (see" in refused(*arguments)


def test_an_error_on_the_command_line_does_not_name_a_variable():
    line = refused(*RUN, "--record", "/nowhere/y", env={"CONCWATCH_RUN_RECORD": "/nowhere/x"})
    assert "/nowhere/y" in line
    assert "set by" not in line


def test_errors_in_other_tables_do_not_stop_a_command_and_settings_lists_them(file):
    file.write_text('[run]\ntasks = "many"\n[screen]\nrate = 99\nengines = "pool"\n')
    env = {"CONCWATCH_RUNS_TASKS": "5"}  # every command warns of a variable of an unknown command
    unknown, *wrong = settings(env, 2)["problems"]
    assert [line.split('"')[0] for line in wrong] == [f"{file}: [screen] rate: ", f"{file}: [run] tasks: "]
    assert unknown.startswith('CONCWATCH_RUNS_TASKS: unknown command "runs"; did you mean "run"? expected ')
    assert invoke("figures", env=env).stderr == f"concwatch: warning: {unknown}\n"
    assert configured(settings(status=2))["CONCWATCH_SCREEN_ENGINES"] == ("pool", "file")


@pytest.mark.parametrize("arguments", [("--version",), ("run", "asyncio", "-h")])
def test_help_is_shown_despite_invalid_settings(file, arguments):
    file.write_text("nonsense")
    done = invoke(*arguments, env={"CONCWATCH_RUN_TASKS": "x", "CONCWATCH_X": "1"})
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("make", "state", "why"),
    [
        (Path.mkdir, " (not read: see below)", "Is a directory"),
        (lambda file: file.symlink_to("nothing"), " (not read: see below)", "No such file or directory"),
        (str, " (does not exist)", "No such file or directory"),
    ],
)
def test_a_named_file_that_cannot_be_read_is_an_error(file, make, state, why):
    file.unlink()
    make(file)
    assert refused("figures") == f'settings file "{file}" cannot be read ({why}); set by CONCWATCH_SETTINGS'
    assert invoke("settings").stdout.splitlines()[0] == f"settings file: {file}{state}"
    assert settings(status=2)["there"] is (state != " (does not exist)")


# Output and --init.


def test_every_value_is_printed_with_its_source(file):
    file.write_text('[screen]\nrate = 5\n[run]\nexpect = ["asyncio.failed <= 0", "pool.failed <= 0"]\n')
    done = invoke("settings", env={"CONCWATCH_RUN_TASKS": "10k"})
    assert (done.exit_code, done.stderr) == (0, "")
    first, blank, *lines = done.stdout.splitlines()
    assert (first, blank, lines[0]) == (f"settings file: {file}", "", "[screen]")
    cells = [[cell.strip() for cell in line.split("  ") if cell] for line in lines]
    expected = [
        ["rate", "5", str(file)],
        ["tasks", "10k", "CONCWATCH_RUN_TASKS"],
        ["expect", "asyncio.failed <= 0, pool.failed <= 0", str(file)],
        ["workload", "sleep", "default"],
        ["together", "false", "default"],
        ["max-memory", "80%", "default"],
        ["record", "–", "default"],
    ]
    assert [row for row in expected if row not in cells] == []


def every_command():
    root = click.Context(main)
    return {SCREEN: main, **{name: main.get_command(root, name) for name in NAMES}}


def test_init_writes_every_option_as_a_comment_and_never_overwrites_a_file(file):
    assert "already exists" in refused("settings", "--init")
    file.unlink()
    assert invoke("settings", "--init").stdout == f"{file}\n"
    assert configured(settings()) == {}
    found = tomllib.loads(re.sub("^#(?! )", "", file.read_text(), flags=re.MULTILINE))
    assert {name: set(table) for name, table in found.items()} == {
        name: set(options_of(command)) for name, command in every_command().items()
    }
    assert found["screen"]["rate"] == "10"


def test_variables_are_named_after_options():
    seen = {"CONCWATCH_SETTINGS"}
    for name, command in every_command().items():
        for key, option in options_of(command).items():
            read = option.envvar or f"{prefix(name)}_{option.name.upper()}"
            assert (f"--{key}" in option.opts, read) == (True, variable(name, key))
            assert read not in seen
            seen.add(read)
