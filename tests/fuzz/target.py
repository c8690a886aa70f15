"""One thing that reads what comes from outside, and what must hold whatever that is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
    check: Callable[[bytes], None]
    """Read any bytes; raises whatever should not have happened."""
    words: tuple[str, ...]
    """What such inputs are made of."""
    longest: int = 2_000
    """Bytes of the inputs that are tried."""

    @property
    def seeds(self) -> list[Path]:
        """The files of its corpus, by name."""
        return sorted((CORPUS / self.name).iterdir())


def refused(error: ValueError) -> None:
    """See that an error is the promised one: a line of bounded length, and nothing that leaked through."""
    problem = str(error)
    assert type(error) is ValueError, f"{type(error).__name__}: {problem[:200]}"
    one_line(problem)


def one_line(problem: str) -> None:
    """See that a problem is told in one line of bounded length."""
    assert problem.strip(), "nothing said"
    assert len(problem.splitlines()) == 1, f"not one line: {problem[:200]!r}"
    assert len(problem) <= LONGEST_PROBLEM, f"{len(problem):,} letters: {problem[:200]!r}"
