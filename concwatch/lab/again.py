"""The program started once more by itself."""

import sys
from collections.abc import Sequence

from concwatch.lab.catalog import ROOT

# Not "-m", which puts the working directory first on the path: a user's own queue.py would be taken for the
# standard library's.
_START = "import sys; sys.path.insert(0, {root!r}); from concwatch.__main__ import main; main()"


def command_line(arguments: Sequence[str]) -> list[str]:
    """Give the program and its arguments that run ``concwatch`` with ``arguments``."""
    return [sys.executable, "-P", "-c", _START.format(root=ROOT), *arguments]
