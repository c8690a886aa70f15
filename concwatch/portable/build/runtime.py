"""One way to build and start an engine in another language: its source, its tools, and commands.

Standard library, Python 3.9: a bridge builds with it, too.
"""

import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from concwatch.portable.build.tool import Found, Tool, find

SOURCES = Path(__file__).resolve().parents[2] / "runtimes"


class Runtime(NamedTuple):
    """How an engine's worker is built and started.

    In the commands, ``{source}`` stands for the folder of the source, ``{out}`` for the output folder,
    ``{engine}`` for the engine's name, and ``{NAME}`` for the path of the tool of that name.
    """

    language: str
    """As shown to the user: ``building with Rust 1.95.0``."""
    folder: str
    """The source: a folder of this package, or a file's path."""
    tools: Tuple[Tool, ...]
    """The required tools; the version of the first one is part of the cache key."""
    build: Tuple[Tuple[str, ...], ...]
    """Commands run in order, in ``{out}``; none if the source needs no build."""
    run: Tuple[str, ...]
    """The command that starts a worker."""
    environment: Tuple[Tuple[str, str], ...] = ()
    """Environment variables of the build besides those it inherits."""
    shares: Tuple[str, ...] = ()
    """Other folders and files of this package that the worker is also built from."""

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> "Runtime":
        """Return the runtime that was sent as `fields`."""
        return Runtime(**{**fields, "tools": tuple(Tool(**tool) for tool in fields["tools"])})

    def fields(self) -> Dict[str, Any]:
        """Return it as it is sent to a host, where its source is a folder beside it."""
        tools = [tool._asdict() for tool in self.tools]
        return {**self._asdict(), "tools": tools, "folder": name_of(self.source), "shares": ()}

    @property
    def main_tool(self) -> Tool:
        """The tool that runs the worker, or the one that builds it if it runs by itself."""
        runs = self.run[0].strip("{}")
        return next((tool for tool in self.tools if tool.name == runs), self.tools[0])

    def of_version(self, version: str) -> "Runtime":
        """Return the same with exactly this version of its main tool."""
        main = self.main_tool
        tools = (tool._replace(version_wanted=version) if tool is main else tool for tool in self.tools)
        return self._replace(tools=tuple(tools))

    def with_variables(self, variables: Tuple[Tuple[str, str], ...]) -> "Runtime":
        """Return the same, built with additional environment variables."""
        return self._replace(environment=(*self.environment, *variables))

    @property
    def source(self) -> Path:
        """The path of the source."""
        return SOURCES / self.folder

    def source_files(self) -> Iterator[Tuple[str, Path]]:
        """Yield the name and the path of each file of the source."""
        for place in (self.source, *(SOURCES / folder for folder in self.shares)):
            if place.is_file():
                yield name_of(place), place
            for path in sorted(place.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield f"{name_of(place)}/{path.relative_to(place)}", path

    def find_tools(self, ask: Optional[Callable[[Tool, str], str]] = None) -> Dict[str, Found]:
        """Return each tool found, by name; ``ask`` as for `find`.

        Raises:
            ValueError: one is missing; the message is one line with how to install it.
        """
        places = {}
        for tool in self.tools:
            place = find(tool, ask)
            if isinstance(place, str):
                raise ValueError(place)
            places[tool.name] = place
        return places

    def missing(self) -> Optional[str]:
        """Return one line about a missing tool and how to install it, or None; runs no command."""
        try:
            self.find_tools()
        except ValueError as error:
            return str(error)
        return None

    def source_digest(self) -> bytes:
        """Return a digest of the source's files."""
        import hashlib  # takes 3 ms, and most sessions build nothing

        digest = hashlib.sha256()
        for name, path in self.source_files():
            digest.update(f"{name}\n".encode())
            digest.update(path.read_bytes())
        return digest.digest()

    def fill_in(
        self, command: Sequence[str], places: Mapping[str, Found], source: str, out: str, engine: str
    ) -> List[str]:
        """Return a command with its placeholders filled in."""
        values = {"source": source, "out": out, "engine": engine}
        values.update({name: place.path for name, place in places.items()})
        words = list(command)
        for name, value in values.items():
            words = [word.replace(f"{{{name}}}", value) for word in words]
        return words

    def build_environment(self) -> Dict[str, str]:
        """Return the environment variables of the build."""
        return {**os.environ, **dict(self.environment)}


def name_of(place: Path) -> str:
    """Return the name of a source: its path in this package, or else its last part."""
    try:
        return str(place.relative_to(SOURCES))
    except ValueError:
        return place.name
