"""Plain ``concwatch``, which opens the screen without click if nothing is set."""

import signal
import subprocess
import sys

import pytest
from msgspec import structs

from concwatch.__main__ import main
from concwatch.commands import cli
from concwatch.commands.basics.settings_file import may_be_set, settings_path
from concwatch.commands.screens import screen
from concwatch.commands.screens.screen import ScreenOptions
from concwatch.system.child import ROOT
from tests.command_line import invoke
from tests.faults.terminal import Terminal


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    """No settings: neither those of the tests nor the user's."""
    monkeypatch.delenv("CONCWATCH_SETTINGS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def opened(monkeypatch):
    """The options of each screen that is opened, which none is in fact."""
    opened = []
    monkeypatch.setattr(cli, "check_display", lambda alternative: None)
    monkeypatch.setattr(cli, "Display", lambda: None)
    monkeypatch.setattr(cli, "open_screen", lambda display, options, make_lab: opened.append(options))
    return opened


def test_the_workload_of_the_screen_may_have_arguments(opened):
    assert invoke("--workload", "app.jobs:fetch", "--arg", "a", "--arg", "b").exit_code == 0
    assert opened[0].settings.arguments == ("a", "b")


def test_the_defaults_are_those_of_the_command_line(opened):
    assert invoke().exit_code == 0
    (parsed,) = opened
    assert structs.replace(parsed, lanes=tuple(parsed.lanes)) == ScreenOptions()


@pytest.mark.parametrize(
    ("arguments", "variables", "file", "parses"),
    [
        ((), {}, None, False),
        (("--rate=5",), {}, None, True),
        ((), {"CONCWATCH_SCREEN_RATE": "5"}, None, True),
        ((), {"_CONCWATCH_COMPLETE": "bash_complete"}, None, True),
        ((), {}, "[screen]\nrate = 5\n", True),
    ],
    ids=["nothing", "argument", "variable", "completion", "file"],
)
def test_arguments_and_settings_are_parsed(arguments, variables, file, parses, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if file is not None:
        settings_path().parent.mkdir(parents=True)
        settings_path().write_text(file)
    called = []
    monkeypatch.setattr(sys, "argv", ["concwatch", *arguments])
    monkeypatch.setattr(screen, "open_default_screen", lambda: called.append("default") or sys.exit())
    monkeypatch.setattr(cli, "main", lambda: called.append("parsed") or sys.exit())
    with pytest.raises(SystemExit):
        main()
    assert called == ["parsed" if parses else "default"]
    assert may_be_set() == bool(variables or file)


INTERRUPTED = """
import atexit, sys
from concwatch.commands.screens import screen
from concwatch.__main__ import main
def interrupted():
    print("opened")
    raise KeyboardInterrupt
screen.open_default_screen = interrupted
sys.argv = ["concwatch"]
atexit.register(lambda: print("cleaned up"))
main()
"""


@pytest.mark.real
def test_an_interrupt_ends_it_quietly_by_sigint_after_what_python_does_at_exit():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("opened\ncleaned up\n", "")
    assert done.returncode == -signal.SIGINT


@pytest.mark.real
def test_it_shows_the_lanes_saves_what_was_chosen_and_quits(tmp_path):
    with Terminal("-m", "concwatch") as terminal:
        terminal.wait_for_screen()
        terminal.type("]")
        terminal.wait_for_text("charts show 15 s")
        terminal.quit()
    assert (tmp_path / "state" / "concwatch" / "screen.json").read_text() == '{"window":15.0}'
