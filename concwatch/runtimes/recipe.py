"""The recipe and sources from which a bridge builds a worker in another language on its host."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import to_builtins

from concwatch.runtimes.runtime import SOURCES, Runtime
from concwatch.runtimes.tool import Tool

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # constant, so that the same sources give the same archive


def recipe(ways: Sequence[Runtime]) -> tuple[list[dict[str, object]], bytes]:
    """Return the recipe of each of ``ways``, and a zip file of their sources."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(dict(file for way in ways for file in _files(way)).items()):
            archive.writestr(zipfile.ZipInfo(name, _TIMESTAMP), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return [_way(way) for way in ways], out.getvalue()


def _name(place: Path) -> str:
    return str(place.relative_to(SOURCES)) if place.is_relative_to(SOURCES) else place.name


def _files(way: Runtime) -> Iterator[tuple[str, Path]]:
    for place in (way.source, *(SOURCES / folder for folder in way.shares)):
        for path in place.rglob("*") if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                yield (f"{_name(place)}/{path.relative_to(place)}" if place.is_dir() else _name(place)), path


def _way(way: Runtime) -> dict[str, object]:
    fields = to_builtins(way)
    return {name: fields[name] for name in ("language", "build", "run", "environment")} | {
        "source": _name(way.source),
        "tools": [_tool(tool) for tool in way.tools],
    }


def _tool(tool: Tool) -> dict[str, object]:
    fields = to_builtins(tool)
    kept = ("name", "homes", "folders", "version", "pattern", "least", "version_wanted")
    return {**{name: fields[name] for name in kept}, "needed": tool.requirement("{found}")}
