"""The commands, called in this process as a shell would."""

import sys

from click.testing import CliRunner

from concwatch.cli import main

PROGRAM = (sys.executable, "-m", "concwatch")
"""The same as a process of its own."""


def invoke(*arguments, env=None):
    """Return what a command gave."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=env)


def refused(*arguments, env=None):
    """Check that a command is refused as bad input is, and return the one line it says."""
    done = invoke(*arguments, env=env)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("concwatch: ")
    return line.removeprefix("concwatch: ")
