"""Engines on another version of their runtime, or with environment variables."""

import json
import re
import shutil
import sys
import time

import pytest

from concwatch.links.link import Ended
from concwatch.links.messages import Error
from concwatch.links.process import WorkerProcess
from concwatch.monitor.workers.catalog import catalog_row, find_engines
from concwatch.portable.build.builder import BuildError
from concwatch.portable.build.runtime import Runtime
from concwatch.portable.build.tool import Tool
from concwatch.portable.build.tool import find as find_tool
from concwatch.runtimes import pythons
from tests.toolchain import MAKE, TOYC, Toolchain
from tests.worker_driver import until

pytestmark = pytest.mark.real


def executable(path, text):
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return Toolchain(tmp_path, monkeypatch)


# Another Python.


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Three fake Pythons not on ``PATH``, one of them free-threaded."""
    monkeypatch.setattr(pythons, "FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for folder, free in (("3.14.1", False), ("3.14.2", False), ("cpython-3.14.2+freethreaded-linux", True)):
        version = re.search(r"[\d.]+\d", folder)[0]
        report = {
            "executable": f"{version}{'t' * free}",
            "prefix": folder,
            "version": [int(part) for part in version.split(".")],
            "implementation": "cpython",
            "free_threaded": free,
            "packages": [],
        }
        executable(tmp_path / folder / "bin" / "python3", f"echo '{json.dumps(report)}'")
    pythons.find_interpreter.cache_clear()
    yield
    pythons.find_interpreter.cache_clear()


def test_a_python_version_is_found_or_the_error_has_the_install_commands(installed):
    for version, found in (("3.14", "3.14.2"), ("3.14t", "3.14.2t"), ("3.14.1", "3.14.1")):
        assert pythons.find_interpreter(version).executable == found
    for version in ("3.13", "3.14.1t", "3.14.10"):
        needed = f"needs Python {version}: uv python install {version}, or pyenv install {version}"
        with pytest.raises(ValueError, match=f"^{re.escape(needed)}$"):
            pythons.find_interpreter(version)


# Another version of a runtime.


def test_an_engine_of_another_language_can_have_the_version_of_its_runtime():
    (row,) = find_engines(["java@21"])
    assert (row.name, row.kind) == ("java-virtual@21", "java-virtual")
    assert row.ways[0].main_tool.version_wanted == "21"
    assert catalog_row("java@21").name == catalog_row("java-virtual").name == "java-virtual"
    with pytest.raises(ValueError, match="go@latest has no version, such as go@21"):
        find_engines(["go@latest"])


def test_only_the_requested_version_of_a_tool_is_used(tmp_path):
    for version in ("21.0.2", "25.0.1"):
        executable(tmp_path / f"jdk-{version}" / "bin" / "brew", "")
        (tmp_path / f"jdk-{version}" / "release").write_text(f'BREW_VERSION="{version}"\n')
    file = ("release", "BREW_VERSION")
    brew = Tool("brew", "install {version}", folders=(f"{tmp_path}/*/bin",), least=(21,), version_file=file)
    way = Runtime("Brew", str(tmp_path), (TOYC, brew), (), ("{brew}",))
    assert find_tool(way.main_tool).version == "25.0.1"  # the newest not on the path
    assert find_tool(way.of_version("21").main_tool).version == "21.0.2"
    assert re.fullmatch(
        r"needs brew 24, found [\d.]+ at .*: install 24", find_tool(way.of_version("24").main_tool)
    )
    assert way.of_version("24").tools[0] is TOYC  # a tool that only builds


def test_a_version_reported_by_the_tool_itself_must_match_the_requested_one(toy):
    (way,) = toy.engine.ways
    assert toy.build([way.of_version("3.1")])
    with pytest.raises(BuildError, match=r"^needs toyc 3\.2, found 3\.1\.4 at .*: install toyc"):
        toy.build([way.of_version("3.2")])


# Environment variables.


def test_a_build_with_environment_variables_is_a_separate_build(toy):
    toy.write(body=MAKE + '; echo "flavor=$FLAVOR"')
    plain = toy.build()
    assert toy.reported[-1] == "flavor="
    variant = toy.engine.with_variables((("FLAVOR", "sweet"),))
    assert variant.environment == (("FLAVOR", "sweet"),)
    assert toy.build(variant.ways) != plain
    assert toy.reported[-1] == "flavor=sweet"


async def test_a_worker_gets_its_variables_in_addition_to_the_inherited_ones():
    code = "print(json.dumps(dict(type='error', message=os.environ['TOY'] + str('PATH' in os.environ))))"
    link = WorkerProcess([sys.executable, "-c", f"import json, os; {code}"], {"TOY": "yes, "})
    seen = []

    def ended():
        seen.extend(link.arrivals(time.monotonic()))
        return any(isinstance(arrival, Ended) for arrival in seen)

    await until(ended, "the end of the worker")
    assert Error("yes, True") in seen
