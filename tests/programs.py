"""Programs that tests need besides Python, and without which they are skipped."""

import os
import shutil

import pytest

REQUIRED = os.environ.get("REQUIRE_PROGRAMS", "").split()
"""Those whose absence makes tests fail."""


def needs(program: str) -> pytest.MarkDecorator:
    """Return a mark of tests that start a program."""
    absent = not shutil.which(program) and program not in REQUIRED
    return pytest.mark.skipif(absent, reason=f"{program} is not installed")
