"""Shell completion and the man page."""

import os
import shutil
import subprocess

import pytest
from click.shell_completion import ShellComplete

from concwatch.commands.basics.completion import SHELLS
from concwatch.commands.cli import main
from tests.build_man import PAGE, page
from tests.command_line import PROGRAM, invoke


def completed(*words):
    """Return the completions of the last of ``words``."""
    *before, incomplete = words
    found = ShellComplete(main, {}, "concwatch", "_CONCWATCH_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["comp"], ["compare", "completion"]),
        (["run", "as"], ["asyncio", "async-std"]),
        (["run", "asyncio", "--tr"], ["--trace"]),
        (["run", "asyncio", "--gc", ""], ["default", "frozen", "off"]),
        (["run", "asyncio", "--workload", "sleep:5"], ["sleep:5..15"]),
        (["run", "asyncio", "--expect", "asyncio.rss_p"], ["asyncio.rss_per_task"]),
        (["--engines", "asyncio,uv"], ["asyncio,uvloop"]),
        (["--tasks", "threads"], ["threads="]),
        (["--theme", "solarized"], ["solarized-dark", "solarized-light"]),
        (["engines", "rust"], ["rust-threads"]),
        (["experiment", "mill"], ["million-tasks"]),
        (["demo", "mode"], ["models"]),
        (["export", "x.jsonl", "--columns", "rss,liv"], ["rss,live"]),
        (["completion", ""], list(SHELLS)),
        (["run", "nothing-of-the-sort"], []),
    ],
    ids=lambda value: " ".join(value),
)
def test_commands_options_and_values_are_completed(words, expected):
    found = completed(*words)
    assert set(expected) <= set(found)
    assert found if expected else not found


def test_invalid_settings_print_nothing_during_completion(monkeypatch):
    monkeypatch.setenv("CONCWATCH_RUN_GC", "nonsense")
    monkeypatch.setenv("CONCWATCH_SETTINGS", "/nowhere/at/all")
    assert completed("run", "asyncio", "--gc", "d") == ["default"]


@pytest.mark.real  # click asks bash for its version
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_each_shell_has_a_script_and_bash_completes_with_it():
    scripts = {shell: invoke("completion", shell).stdout for shell in SHELLS}
    assert all("_CONCWATCH_COMPLETE" in script for script in scripts.values())
    options = {"capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run(["bash", "-c", f"{scripts['bash']}\ncomplete -p concwatch"], **options)
    assert (done.returncode, done.stdout.split()[-1]) == (0, "concwatch"), done.stderr
    words = {"COMP_WORDS": "concwatch run --gc f", "COMP_CWORD": "3", "_CONCWATCH_COMPLETE": "bash_complete"}
    done = subprocess.run(PROGRAM, env={**os.environ, **words}, **options)
    assert (done.stdout.strip(), done.stderr) == ("plain,frozen", "")


def test_the_man_page_matches_the_commands():
    assert PAGE.read_text("utf-8") == page(), "expected python -m tests.build_man to be run"
