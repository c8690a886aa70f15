"""One thing that reads what comes from outside, and what must hold whatever that is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
"""A folder a target: inputs to begin with, and all that ever broke it."""

RUNS = 1_000_000
"""Inputs that a fuzzer tries of each."""
LIMIT = 5
"""Seconds that one input may take, on however loaded a machine."""
MEMORY = 1_000
"""MiB that the process of a fuzzer may take: Textual and the fuzzer's own tables are in it."""

LONGEST_PROBLEM = 4_000
"""Letters of what is said of a wrong input, however long that is; the longest list all that is known."""


@dataclass(frozen=True)
class Target:
    """One reader under test."""

    name: str
    what: str
    """What it reads, for a person."""
    read: Callable[[bytes], Any]
    """Reads any bytes, or raises a `ValueError` of one line."""
    use: Callable[[Any], None]
    """Uses what was read, checks the promises, and raises nothing else."""
    words: tuple[str, ...]
    """What such inputs are made of."""
    longest: int = 2_000
    """Bytes of the inputs that are tried."""

    @property
    def seeds(self) -> list[Path]:
        """The files of its corpus, by name."""
        return sorted((CORPUS / self.name).iterdir())

    def check(self, data: bytes) -> None:
        """Read any bytes; raise whatever should not have happened."""
        attempt(self.read, data, self.use)


def attempt(read: Callable[[Any], Any], data: object, use: Callable[[Any], None]) -> None:
    """Use what is read of ``data``, or see that the error is the promised one and nothing leaked through."""
    try:
        found = read(data)
    except ValueError as error:
        refused = error
    else:
        use(found)
        return
    assert type(refused) is ValueError, f"{type(refused).__name__}: {str(refused)[:200]}"
    one_line(str(refused))


def one_line(problem: str) -> None:
    """See that a problem is told in one line of bounded length."""
    assert problem.strip(), "nothing said"
    assert len(problem.splitlines()) == 1, f"not one line: {problem[:200]!r}"
    assert len(problem) <= LONGEST_PROBLEM, f"{len(problem):,} letters: {problem[:200]!r}"
