"""One way to build and start an engine in another language: its source, its tools, and commands."""

import os
from pathlib import Path

from msgspec import Struct, structs

from concwatch.hosts import build_steps
from concwatch.runtimes.tool import Found, Tool, find

SOURCES = Path(__file__).resolve().parent


class Runtime(Struct, frozen=True):
    """How an engine's worker is built and started.

    In the commands, ``{source}`` stands for the folder of the source, ``{out}`` for the output folder,
    ``{engine}`` for the engine's name, and ``{NAME}`` for the path of the tool of that name.
    """

    language: str
    """As shown to the user: ``building with Rust 1.95.0``."""
    folder: str
    """The source: a folder of this package, or a file's path."""
    tools: tuple[Tool, ...]
    """The required tools; the version of the first one is part of the cache key."""
    build: tuple[tuple[str, ...], ...]
    """Commands run in order, in ``{out}``; none if the source needs no build."""
    run: tuple[str, ...]
    """The command that starts a worker."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables of the build besides those it inherits."""
    shares: tuple[str, ...] = ()
    """Other folders and files of this package that the worker is also built from."""

    @property
    def main_tool(self) -> Tool:
        """The tool that runs the worker, or the one that builds it if it runs by itself."""
        runs = self.run[0].strip("{}")
        return next((tool for tool in self.tools if tool.name == runs), self.tools[0])

    def of_version(self, version: str) -> "Runtime":
        """Return the same with exactly this version of its main tool."""
        main = self.main_tool
        tools = (
            structs.replace(tool, version_wanted=version) if tool is main else tool for tool in self.tools
        )
        return structs.replace(self, tools=tuple(tools))

    def with_variables(self, variables: tuple[tuple[str, str], ...]) -> "Runtime":
        """Return the same, built with additional environment variables."""
        return structs.replace(self, environment=(*self.environment, *variables))

    @property
    def source(self) -> Path:
        """The path of the source."""
        return SOURCES / self.folder

    def missing(self) -> str | None:
        """Return one line about a missing tool and how to install it, or None; runs no command."""
        return next((reason for reason in map(find, self.tools) if isinstance(reason, str)), None)

    def find_tools(self) -> dict[str, Found]:
        """Return each tool found, by name.

        Raises:
            ValueError: one is missing; the message is one line with how to install it.
        """
        places = {}
        for tool in self.tools:
            place = find(tool)
            if isinstance(place, str):
                raise ValueError(place)
            places[tool.name] = place
        return places

    def cache_key(self, version: str) -> str:
        """Return the cache key of a build from this source by a toolchain of this version."""
        import hashlib  # only to start a worker

        digest = hashlib.sha256(f"{version}\n{self.build}\n{self.environment}\n".encode())
        for folder in (self.source, *(SOURCES / folder for folder in self.shares)):
            for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path.relative_to(folder)}\n".encode())
                    digest.update(path.read_bytes())
        return f"{Path(self.folder).name}-{digest.hexdigest()[:16]}"

    def fill_in(
        self, command: tuple[str, ...], places: dict[str, Found], out: Path, engine: str
    ) -> list[str]:
        """Return a command with its placeholders filled in."""
        paths = {name: place.path for name, place in places.items()}
        return build_steps.fill_in(
            command, {"source": str(self.source), "out": str(out), "engine": engine, **paths}
        )

    def build_environment(self) -> dict[str, str]:
        """Return the environment variables of the build."""
        return {**os.environ, **dict(self.environment)}
