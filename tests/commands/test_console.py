"""Every command in ten locales: what a locale cannot encode is replaced, and nothing is raised."""

import os
import shutil
import subprocess
import sys

import click
import pytest

from concwatch.commands import cli
from concwatch.system.child import concwatch_command
from tests.made_recording import made_lines

pytestmark = pytest.mark.real

LOCALES = {
    "C": None,
    "C.UTF-8": None,
    "xx_XX.NOT-INSTALLED": None,
    "de_DE.ISO-8859-15": ("de_DE", "ISO-8859-15"),
    "tr_TR.ISO-8859-9": ("tr_TR", "ISO-8859-9"),
    "ar_EG.ISO-8859-6": ("ar_EG", "ISO-8859-6"),
    "ru_RU.KOI8-R": ("ru_RU", "KOI8-R"),
    "ja_JP.EUC-JP": ("ja_JP", "EUC-JP"),
    "ko_KR.EUC-KR": ("ko_KR", "EUC-KR"),
    "zh_CN.GB18030": ("zh_CN", "GB18030"),
}
"""Name → what ``localedef`` makes it of; None if nothing has to be made."""

COMMANDS = {
    "": [()],
    "attach": [("999999999",)],
    "compare": [("one.concwatch", "two.concwatch"), ("one.concwatch", "one.concwatch")],
    "completion": [("bash",)],
    "dashboard": [(), ("--alerts",)],
    "demo": [()],
    "doctor": [()],
    "engines": [(), ("threads",)],
    "experiment": [(), ("million-tasks", "--help")],
    "export": [("one.concwatch", "--csv"), ("one.concwatch", "--chart"), ("one.concwatch", "--json")],
    "metrics": [(), ("--json",)],
    "flame": [("999999999",), ("1", "--seconds", "0")],
    "hosts": [()],
    "recordings": [(".",)],
    "replay": [("one.concwatch",)],
    "run": [
        ("threads", "--tasks", "10", "--seconds", "0.1", "--expect", "threads.rss_per_task < 1", "--chart"),
        ("Ünknown–▁",),
    ],
    "serve": [("--help",)],
    "settings": [()],
    "sweep": [
        ("threads", "--workload", "nop", "--to", "2", "--seconds", "0.1", "--chart"),
        ("Ünknown–▁", "--workload", "nop"),
    ],
    "watch": [("--json", "-", "--expect", "created < 0", "--", sys.executable, "-c", "print('ä – ▁')")],
}
"""Command → the arguments of each call."""

DRIVER = """
import contextlib, sys, traceback
from concwatch.commands.basics import console
console.replace_unencodable()
from concwatch.commands import cli
for arguments in {calls!r}:
    sys.argv = ["concwatch", *arguments]
    try:
        cli.main()
    except SystemExit:
        pass
    except BaseException:
        print("RAISED", arguments)
        traceback.print_exc()
print("END")
"""


def test_every_command_is_tried():
    assert set(COMMANDS) == {"", *cli.main.list_commands(click.Context(cli.main))}


# Apart from the others: it measures all engines, for as long as the others take together.
@pytest.mark.parametrize("only", [{"doctor"}, set(COMMANDS) - {"doctor"}], ids=["doctor", "others"])
@pytest.mark.parametrize("name", LOCALES)
def test_no_command_raises_in_this_locale(name, only, tmp_path):
    made = LOCALES[name]
    if made is not None:
        if shutil.which("localedef") is None:
            pytest.skip("localedef is not installed")
        source, charset = made
        making = ["localedef", "-i", source, "-f", charset, str(tmp_path / name)]
        if subprocess.run(making, capture_output=True, check=False).returncode > 1:  # 1: with warnings
            pytest.skip(f"no locale {name}")
    for file, seconds in (("one", 20), ("two", 30)):
        (tmp_path / f"{file}.concwatch").write_bytes(b"".join(made_lines(seconds, hz=2, lanes=2)))
    chosen = {command: calls for command, calls in COMMANDS.items() if command in only}
    calls = [[*([command] if command else []), *call] for command, all_ in chosen.items() for call in all_]
    calls += [[command, "--help"] for command in chosen if command]
    (tmp_path / "driver.py").write_text(DRIVER.format(calls=calls), encoding="utf-8")
    environment = {**os.environ, "LC_ALL": name, "LOCPATH": str(tmp_path), "PYTHONCOERCECLOCALE": "0"}
    environment.update(PYTHONUTF8="0", TERM="xterm-256color", COLUMNS="120")
    done = subprocess.run(
        [sys.executable, "driver.py"],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.stdout.endswith(b"END\n"), output[-2_000:]
    assert b"RAISED" not in output, output[-4_000:]
    assert b"Traceback" not in output, output[-4_000:]
    failed = concwatch_command("metrics")
    alone = subprocess.run(failed, env=environment, capture_output=True, timeout=60, check=False)
    assert (alone.returncode, alone.stderr) == (0, b"")
