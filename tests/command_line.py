"""Calling the commands, in this process or as one of their own."""

import subprocess
import sys

from click.testing import CliRunner

from concwatch.commands.cli import main
from concwatch.system.child import concwatch_command

PROGRAM = (sys.executable, "-m", "concwatch")
"""The command line that starts concwatch as a process."""

LIMIT = 60.0
"""Seconds that a process may take."""


def invoke(*arguments, env=None):
    """Run a command. Return its result."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=env)


def refused(*arguments, env=None):
    """Run a command that must refuse its input. Return the one line on standard error."""
    done = invoke(*arguments, env=env)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("concwatch: ")
    return line.removeprefix("concwatch: ")


def watch(*arguments, **options):
    """Run ``concwatch watch`` to its end."""
    return subprocess.run(
        concwatch_command("watch", *arguments),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        **options,
    )
