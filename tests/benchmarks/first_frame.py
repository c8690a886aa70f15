"""Milliseconds from exec to the first whole frame on a terminal of 120x40, against a minimal Textual app."""

from collections.abc import Mapping, Sequence

from .figures import Benchmark, Measured, Reach, Row, alternate
from .terminal import CONCWATCH, Terminal

MINIMAL = """
from textual.app import App
from textual.widgets import Static

class Minimal(App):
    BINDINGS = [("q", "quit", "Quit")]

    def compose(self):
        yield Static("all is here")

Minimal().run()
"""

WHOLE = (
    "concwatch",
    "▌1 threads",
    "4 uvloop",
    "collector",
    "─ RSS ",
    "─ completed / s ",
    "vm.max_map_count",
    "quit",
)
"""What is on screen once everything is: a text from every part of it."""


def _milliseconds(arguments: Sequence[str], texts: Sequence[str]) -> float:
    with Terminal(arguments) as terminal:
        seen = terminal.until(lambda: all(text in terminal.text for text in texts))
        terminal.run(0.3)  # so that it is not asked to quit before it listens
        return (seen - terminal.began) * 1e3


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure both in turn, after one start of each that is not counted: it may have to compile."""
    measures = {
        "minimal": lambda: _milliseconds(("-c", MINIMAL), ("all is here",)),
        "concwatch": lambda: _milliseconds(CONCWATCH, WHOLE),
    }
    for start in measures.values():
        start()
    found = alternate(2 if quick else 21, **measures)
    return {"frame": Measured(found["concwatch"], found["minimal"])}


BENCHMARKS = (
    Benchmark(
        "first-frame",
        (Row("frame", "first whole frame", "ms", "minimal Textual app", Reach("at most", 1.5)),),
        measure,
    ),
)
