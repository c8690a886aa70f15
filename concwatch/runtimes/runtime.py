"""One way to have an engine that is not this Python: its source, its tools, and two commands."""

import os
from pathlib import Path

from msgspec import Struct, structs

from concwatch.runtimes.tool import Found, Tool, find

HERE = Path(__file__).resolve().parent

TIME_LIMIT = 300.0
"""Seconds that a build may take; fetching packages over a slow line is part of it."""


class Runtime(Struct, frozen=True):
    """A row of data: how an engine's worker is built and started.

    In the commands, ``{source}`` stands for the source, ``{out}`` for the one that is built
    into, ``{engine}`` for the engine's name, and ``{NAME}`` for where the tool of that name is.
    """

    language: str
    """For a person: ``building with Rust 1.95.0``."""
    folder: str
    """Where the source is: a folder of this package, or the path of a single file."""
    tools: tuple[Tool, ...]
    """All are needed; the first tells the version that the build is kept under."""
    build: tuple[tuple[str, ...], ...]
    """Commands that are run one after another, in ``{out}``; none where the source is run as it is."""
    run: tuple[str, ...]
    """The command that starts a worker."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the build has besides what it inherits."""
    shares: tuple[str, ...] = ()
    """Other folders and files of this package that the worker is built from as well."""

    @property
    def main_tool(self) -> Tool:
        """What runs the worker; where that runs by itself, what builds it."""
        runs = self.run[0].strip("{}")
        return next((tool for tool in self.tools if tool.name == runs), self.tools[0])

    def of_version(self, version: str) -> "Runtime":
        """Return the same on this version of its main tool alone."""
        main = self.main_tool
        tools = (
            structs.replace(tool, version_wanted=version) if tool is main else tool for tool in self.tools
        )
        return structs.replace(self, tools=tuple(tools))

    def with_variables(self, variables: tuple[tuple[str, str], ...]) -> "Runtime":
        """Return the same, built with more variables in the environment."""
        return structs.replace(self, environment=(*self.environment, *variables))

    @property
    def source(self) -> Path:
        """The folder of the source."""
        return HERE / self.folder

    def missing(self) -> str | None:
        """Return which tool is not there and what to do, or None; nothing is run."""
        return next((reason for reason in map(find, self.tools) if isinstance(reason, str)), None)

    def found(self) -> dict[str, Found]:
        """Return where each tool is, by name.

        Raises:
            ValueError: one is not there; one line with what to do.
        """
        places = {}
        for tool in self.tools:
            place = find(tool)
            if isinstance(place, str):
                raise ValueError(place)
            places[tool.name] = place
        return places

    def key(self, version: str) -> str:
        """Name what is built from this source by a toolchain of this version: the same for the same."""
        import hashlib  # only for who starts one

        digest = hashlib.sha256(f"{version}\n{self.build}\n{self.environment}\n".encode())
        for folder in (self.source, *(HERE / folder for folder in self.shares)):
            for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path.relative_to(folder)}\n".encode())
                    digest.update(path.read_bytes())
        return f"{Path(self.folder).name}-{digest.hexdigest()[:16]}"

    def fill(self, command: tuple[str, ...], places: dict[str, Found], out: Path, engine: str) -> list[str]:
        """Put the places into a command."""
        words = {
            "{source}": str(self.source),
            "{out}": str(out),
            "{engine}": engine,
            **{f"{{{name}}}": place.path for name, place in places.items()},
        }
        return [_replace(part, words) for part in command]

    def variables(self) -> dict[str, str]:
        """Return the environment of the build."""
        return {**os.environ, **dict(self.environment)}


def _replace(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text
