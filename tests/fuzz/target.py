"""A reader of external input under test, and the promises that must hold for any input."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
"""A folder for each target: seed inputs, and all inputs that ever broke it."""

RUNS = 1_000_000
"""Inputs that the fuzzer tries on each target."""
LIMIT = 5
"""Seconds that one input may take, even on a loaded machine."""
MEMORY = 1_000
"""MiB that the fuzzer's process may use, including Textual and the fuzzer's own tables."""

LONGEST_PROBLEM = 4_000
"""Most characters of an error message; the longest list all known names."""


@dataclass(frozen=True)
class FuzzTarget:
    """One reader under test."""

    name: str
    what: str
    """What it reads, in words."""
    read: Callable[[bytes], Any]
    """Parses any bytes, or raises a `ValueError` of one line."""
    use: Callable[[Any], None]
    """Uses the result and checks the promises."""
    words: tuple[str, ...]
    """Words that such inputs consist of."""
    longest: int = 2_000
    """Most bytes of an input."""

    @property
    def seeds(self) -> list[Path]:
        """The files of its corpus, sorted by name."""
        return sorted((CORPUS / self.name).iterdir())

    def check(self, data: bytes) -> None:
        """Read any bytes; raise an error if a promise is broken."""
        attempt(self.read, data, self.use)


def attempt(read: Callable[[Any], Any], data: object, use: Callable[[Any], None]) -> None:
    """Use the result of reading ``data``, or check that the error is a `ValueError` of one line."""
    try:
        result = read(data)
    except ValueError as error:
        problem = error
    else:
        use(result)
        return
    assert type(problem) is ValueError, f"{type(problem).__name__}: {str(problem)[:200]}"
    one_line(str(problem))


def one_line(problem: str) -> None:
    """Check that an error message is one line of bounded length."""
    assert problem.strip(), "empty message"
    assert len(problem.splitlines()) == 1, f"not one line: {problem[:200]!r}"
    assert len(problem) <= LONGEST_PROBLEM, f"{len(problem):,} characters: {problem[:200]!r}"
