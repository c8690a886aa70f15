"""A fake toolchain: a compiler on ``PATH`` that runs a shell script."""

import asyncio
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.build.runtime import Runtime
from concwatch.portable.build.tool import Tool
from concwatch.runtimes.building import build
from concwatch.system.child import ROOT

WORKER = f"""#!{sys.executable}
import sys; sys.path.insert(0, {ROOT!r})
from concwatch.portable.worker.serve import serve
serve("asyncio")
"""
"""The worker that the compiler builds, in Python."""

COMPILER = """#!/bin/sh
if [ "$1" = --version ]; then echo "toyc {version} (built for tests)"; exit; fi
echo "$$" >> {log}
{body}
"""

MAKE = 'cp {worker} "$3"/worker && chmod +x "$3"/worker'

TOYC = Tool("toyc", "install toyc", homes=("TOY_HOME",), least=(2, 5))


class Toolchain:
    """A folder with a compiler ``toyc``, a source, and an engine that is built from it.

    Args:
        folder: the folder for all files, including the cache of builds.
        monkeypatch: used to put the compiler on ``PATH``.
        version: the compiler's version.
        body: the shell script that it runs; "$3" is the output folder.
    """

    def __init__(self, folder: Path, monkeypatch, version: str = "3.1.4", body: str = MAKE) -> None:
        self.reported: list[str] = []
        """The messages of the last `build`."""
        self.times: list[float] = []
        """The seconds of each build that ran the compiler."""
        self.log = folder / "log"
        self.source = folder / "source"
        self.source.mkdir()
        (self.source / "main.toy").write_text("source")
        (folder / "worker").write_text(WORKER)
        self._folder = folder
        bin_ = folder / "bin"
        bin_.mkdir()
        self.compiler = bin_ / "toyc"
        self.write(version, body)
        self.cache = folder / "cache"
        monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.cache))
        way = Runtime(
            "Toy", str(self.source), (TOYC,), (("{toyc}", "build", "{source}", "{out}"),), ("{out}/worker",)
        )
        self.engine = Engine("toy", "one toy", 1_000, ways=(way,))

    def write(self, version: str = "3.1.4", body: str = MAKE) -> None:
        """Replace the compiler."""
        filled = body.format(worker=self._folder / "worker")
        self.compiler.write_text(COMPILER.format(version=version, log=self.log, body=filled))
        self.compiler.chmod(self.compiler.stat().st_mode | stat.S_IXUSR)

    @property
    def runs(self) -> list[int]:
        """The process ids of the compiler's runs so far."""
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    @property
    def builds(self) -> list[Path]:
        """The folders in the cache, of finished builds and others."""
        return [path for path in self.cache.rglob("*source-*") if path.is_dir()]

    def build(self, ways: Sequence[Runtime] | None = None) -> list[str]:
        """Build with the given runtimes or the engine's own; return the command. Replaces `reported`."""
        self.reported = []
        built = asyncio.run(build(ways or self.engine.ways, "toy", self.reported.append))
        self.times += [built.seconds] if built.seconds else []
        return built.command
