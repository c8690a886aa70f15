"""Building workers with a fake toolchain, and a lab that starts them."""

import asyncio
import json
import os
import shutil

import pytest
from click.testing import CliRunner

from concwatch.commands.cli import main
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.portable.build import builder, store
from concwatch.portable.build.builder import BuildError
from concwatch.portable.build.tool import Found, find
from concwatch.runtimes.building import build
from tests.processes import alive
from tests.toolchain import MAKE, TOYC, Toolchain
from tests.worker_driver import running_lab, until

pytestmark = pytest.mark.real

ERROR = "main.toy:1:1: error: unknown word"
FAIL = f"""echo "reading $2"; echo "{ERROR}" >&2; exit 1"""
SLEEP = "sleep 600"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return Toolchain(tmp_path, monkeypatch)


# Finding the tools.


def test_the_home_of_a_tool_is_searched_before_the_path(toy, tmp_path, monkeypatch):
    assert find(TOYC) == Found(str(toy.compiler))
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    shutil.copy(toy.compiler, home / "bin" / "toyc")
    monkeypatch.setenv("TOY_HOME", str(home))
    assert find(TOYC) == Found(str(home / "bin" / "toyc"))


# Building.


def test_a_worker_is_built_once_per_source_and_version(toy):
    command = toy.build()
    assert toy.reported == ["building with Toy 3.1.4"]
    assert os.access(command[0], os.X_OK)
    assert toy.build() == command
    assert (len(toy.runs), len(toy.times)) == (1, 1)
    toy.write("3.2")
    newer = toy.build()
    assert newer != command
    (toy.source / "main.toy").write_text("changed")
    assert toy.build() not in (command, newer)
    assert len(toy.runs) == len(toy.builds) == 3


def test_compiler_output_is_reported_and_its_first_error_is_the_reason(toy):
    toy.write(body=FAIL)
    with pytest.raises(BuildError, match=f"^build failed: {ERROR}$"):
        toy.build()
    assert toy.reported[1:] == [f"reading {toy.source}", ERROR]
    assert toy.builds == []
    toy.write(body="seq 1 5000; exit 1")
    with pytest.raises(BuildError, match="build failed: 5000"):
        toy.build()
    assert len(toy.reported) < 30
    assert toy.reported[-1].endswith("more lines")
    toy.write(body=MAKE)
    assert toy.build()


@pytest.mark.parametrize(
    ("compiler", "expected"),
    [
        ("#!/bin/sh\n[ $1 = --version ] && echo toyc 3.1 && exit; exit 3", "build failed: no output"),
        ("#!/bin/sh\necho toyc 2.4.9", r"needs toyc 2\.5 or newer, found 2\.4\.9 at .*: install toyc"),
        ("#!/bin/sh\necho 'library missing' >&2; exit 127", "printed no version: library missing"),
        ("\x7fELF no program", "could not be started"),
        (None, r"needs toyc 2\.5 or newer: install toyc"),
    ],
)
def test_the_build_error_describes_a_missing_or_broken_toolchain(toy, compiler, expected):
    if compiler is None:
        toy.compiler.unlink()
        assert toy.engine.missing() == "needs toyc 2.5 or newer: install toyc"
    else:
        toy.compiler.write_text(compiler)
    with pytest.raises(BuildError, match=expected):
        toy.build()
    assert toy.runs == []


def test_a_build_that_exceeds_its_time_limit_is_killed(toy, monkeypatch):
    monkeypatch.setattr(builder, "BUILD_TIMEOUT", 0.5)
    toy.write(body=f"{SLEEP} & wait")
    with pytest.raises(BuildError, match=r"toyc did not finish within 0\.5 s"):
        toy.build()
    assert toy.builds == []
    assert not any(map(alive, toy.runs))


def test_the_build_error_names_a_cache_folder_that_is_not_writable(toy):
    toy.cache.write_text("a file")
    with pytest.raises(BuildError, match=f"cannot be built in {toy.cache}.*"):
        toy.build()


def test_concurrent_builds_of_one_engine_run_the_compiler_once(toy):
    toy.write(body=f"sleep 0.3\n{MAKE}")

    async def both():
        one, other = (build(toy.engine.ways, "toy", lambda line: None) for _ in "ab")
        return await asyncio.gather(one, other)

    one, other = asyncio.run(both())
    assert one.command == other.command
    assert len(toy.runs) == 1


# In a lab.


def toy_lab(toy):
    """Return a context manager that runs a lab with the toy engine."""
    return running_lab([toy.engine], settings=Settings("hold"), hz=20)


async def test_a_lane_is_building_and_then_reaches_its_target(toy):
    toy.write(body=f'echo "no warnings"\nwhile [ ! -e {toy.source}/go ]; do sleep 0.02; done\n{MAKE}')
    async with toy_lab(toy) as lab:
        lane = lab.lanes[0]
        lab.set_target(lane, 50)
        await until(lambda: lane.state is State.BUILDING, "building")
        assert lane.on
        await until(lambda: toy.runs, "the compiler runs")
        (toy.source / "go").touch()
        await until(lambda: lane.live == 50, "the target")
        assert lane.state is State.RUNNING
        first, second, third, *_ = [event.text for event in lab.events.since(0)]
        assert (first, second) == ("building with Toy 3.1.4", "no warnings")
        assert third.startswith("built in ")


async def test_a_failed_build_fails_its_lane_and_switching_on_retries(toy):
    toy.write(body=FAIL)
    async with toy_lab(toy) as lab:
        lane = lab.lanes[0]
        lab.switch(lane, True)
        await until(lambda: lane.state is State.FAILED, "failed")
        assert lane.worker.life.reason == f"build failed: {ERROR}"
        assert lane.worker.missing is None
        assert lane.idle
        toy.write(body=MAKE)
        lab.switch(lane, True)
        await until(lambda: lane.state is State.RUNNING, "running")


async def test_switching_off_cancels_the_build(toy):
    toy.write(body=SLEEP)
    async with toy_lab(toy) as lab:
        lane = lab.lanes[0]
        lab.switch(lane, True)
        await until(lambda: toy.runs, "the compiler runs")
        lab.switch(lane, False)
        await until(lambda: lane.state is State.OFF, "off")
        assert not any(map(alive, toy.runs))
        assert toy.builds == []
        lab.switch(lane, True)
        await until(lambda: len(toy.runs) == 2, "another build")
    assert not any(map(alive, toy.runs))


# The command.


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def no_tools(tmp_path, monkeypatch):
    """No build tools, and an empty cache folder."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for home in ("GOROOT", "JAVA_HOME", "CARGO_HOME"):
        monkeypatch.delenv(home, raising=False)
    monkeypatch.setattr("glob.glob", lambda pattern: [])
    return tmp_path


def test_engines_without_a_toolchain_name_the_package_to_install(no_tools):
    rows = json.loads(invoke("engines", "--json").stdout)
    others = {engine.name for engine in CATALOG if engine.ways}
    for row in rows:
        if row["engine"] in others:
            assert row["missing"].startswith("needs "), row
            assert ": " in row["missing"], row
            assert row["how"], row
    lines = invoke("engines", "--build", "go", "tokio").stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["go", "tokio"]
    assert all("cannot be built: needs " in line for line in lines)


def test_a_failed_build_prints_one_line_and_exits_with_status_1(no_tools):
    go = no_tools / "bin" / "go"
    go.write_text(
        '#!/bin/sh\n[ "$1" = env ] && echo go1.26.8 && exit\necho "./main.go:3:1: syntax error"; exit 1\n'
    )
    go.chmod(0o755)
    result = invoke("engines", "go", "--build")
    assert result.exit_code == 1
    assert "go: build failed: ./main.go:3:1: syntax error" in result.stderr
    assert result.stderr.count("\n") == 1


def test_clean_removes_all_builds(toy):
    toy.build()
    toy.write("3.2")
    toy.build()
    result = invoke("engines", "--clean")
    assert result.exit_code == 0
    assert f"{store.folder()}: 2 builds removed, " in result.stdout
    assert toy.builds == []
    assert "0 builds removed" in invoke("engines", "--clean").stdout
    assert toy.build()
