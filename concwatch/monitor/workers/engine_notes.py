"""Notes on each engine: what a task is, and what its figures include."""

import tomllib
from functools import cache
from pathlib import Path

from concwatch.monitor.workers.catalog import Engine

_FILE = Path(__file__).with_name("engine_notes.toml")
_OF_PYTHON = "python"


@cache
def _texts() -> dict[str, list[str]]:
    texts = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: [" ".join(part.split()) for part in text.strip().split("\n\n")] for name, text in texts.items()
    }


def engine_notes(engine: Engine) -> str:
    """Return the notes on an engine, with empty lines between paragraphs."""
    parts = list(_texts()[engine.kind])
    if not engine.ways:
        parts += _texts()[_OF_PYTHON]
    if engine.python:
        parts.insert(0, f"Runs on {engine.python.executable}, which is Python {engine.python.label}.")
    for way in engine.ways[:1]:
        tools = " and ".join(tool.name for tool in way.tools)
        built = "built on first use and kept in your cache folder" if way.build else "run as it is"
        parts.append(f"Its source is in {way.source}, {built}. It needs {tools}.")
    return "\n\n".join(parts)
