"""A worker under every other Python that is found, with nothing installed there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from concwatch.lab.catalog import find
from tests.worker_driver import Worker

pytestmark = pytest.mark.real

PROBE = "import sys; print(sys.executable, *sys.version_info[:2], sys.implementation.name)"
NAMES = [f"python3.{minor}" for minor in range(9, 20)]


def pythons():
    """Version → the interpreter of each other Python from 3.9 on, one a minor version."""
    folders = [*Path(os.path.expanduser("~/.pyenv/versions")).glob("*/bin"), Path("/opt/python/bin")]
    candidates = [str(folder / "python3") for folder in sorted(folders)]
    candidates += [path for name in NAMES if (path := shutil.which(name))]
    found = {}
    for candidate in candidates:
        if not os.access(candidate, os.X_OK):
            continue
        probe = subprocess.run(
            [candidate, "-c", PROBE], capture_output=True, text=True, timeout=30, check=False
        )
        if probe.returncode == 0:  # a shim of pyenv may point nowhere
            path, major, minor, name = probe.stdout.rsplit(maxsplit=3)
            version = (int(major), int(minor))
            if name == "cpython" and version >= (3, 9) and version != sys.version_info[:2]:
                found.setdefault(f"{major}.{minor}", path)
    return found


PYTHONS = pythons()


@pytest.mark.skipif(not PYTHONS, reason="no other Python from 3.9 on was found")
@pytest.mark.parametrize("engine", ["threads", "pool", "asyncio"])
@pytest.mark.parametrize("version", sorted(PYTHONS, key=lambda version: int(version.split(".")[1])))
def test_a_worker_runs_under_another_python(version, engine, tmp_path):
    kind = "async def" if engine == "asyncio" else "def"
    (tmp_path / "jobs.py").write_text(f"{kind} fail(): raise ValueError('no luck')\n")
    with Worker(engine, python=PYTHONS[version], cwd=tmp_path) as worker:
        assert worker.ready["runtime"].startswith(f"CPython {version}.")
        worker.do("rate", hz=50)
        worker.do("workload", spec="hold")
        assert worker.target(200)["created"] == 200
        assert worker.target(50)["cancelled"] == 150
        tick = worker.next_ticks(1)[0]
        assert (tick["created"], tick["live"], tick["cancelled"]) == (200, 50, 150)
        assert tick["queued"] == (50 - int(worker.ready["flags"][0].split()[0]) if engine == "pool" else 0)
        worker.do("trace", on=True)
        worker.tick(lambda tick: tick.get("tracer"))
        worker.do("trace", on=False)
        worker.tick(lambda tick: "traced" not in tick)
        for mode in ("frozen", "off", "default"):
            worker.do("gc", mode=mode)
        worker.do("trim")
        worker.do("workload", spec="sleep:0.01")
        worker.tick(lambda tick: tick["completed"] > 100)
        worker.do("refill", on=False)
        worker.do("workload", spec="jobs:fail")
        worker.send("target", tasks=3)
        assert "ValueError: no luck" in worker.wait("error")["message"]
        worker.tick(lambda tick: tick["failed"] >= 3)
        assert 'did you mean "sleep"?' in worker.refuse("workload", spec="slep:1")
        worker.process.stdin.close()
        assert worker.ended() == 0
        assert "Warning" not in worker.noise
        assert "Traceback" not in worker.noise


# Found by name, for a lane of its own.


def fake(folder, name, said, status=0):
    """An interpreter that is none: it says ``said`` whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


def told(**changes):
    """What an interpreter says of itself."""
    said = {
        "executable": "/opt/odd/bin/python",
        "prefix": "/opt/odd",
        "version": [3, 13, 1],
        "implementation": "cpython",
        "free_threaded": False,
        "packages": [],
    }
    return json.dumps(said | changes)


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "3.13"),
        ({"free_threaded": True}, "3.13t"),
        ({"implementation": "pypy", "version": [3, 10, 14]}, "pypy3.10"),
        ({"packages": ["uvloop"]}, "3.13"),
    ],
)
def test_a_python_stands_for_all_the_engines_that_it_can_have(tmp_path, changes, label):
    rows = find([f"python:{fake(tmp_path, 'python', told(**changes))}"])
    kinds = ["asyncio", "threads", *(["uvloop"] if "packages" in changes else [])]
    assert [row.name for row in rows] == [f"{kind}@{label}" for kind in kinds]
    assert all(row.missing() is None for row in rows)
    assert all(row.command()[0] == "/opt/odd/bin/python" for row in rows)
    assert all(("-P" in row.command()) == (label != "pypy3.10") for row in rows)


@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        ("not JSON", 0, "is no Python that concwatch can use: not JSON"),
        ("", 127, "is no Python that concwatch can use: it says nothing"),
        ("[1, 2]", 0, "is no Python that concwatch can use"),
        (told(version=[3, 8, 18]), 0, r"is Python 3\.8\.18: expected 3\.9 or newer"),
        (told(version="three"), 0, "is no Python|expected 3"),
    ],
)
def test_what_is_no_python_or_too_old_is_one_line(tmp_path, said, status, why):
    with pytest.raises(ValueError, match=why) as error:
        find([f"asyncio@{fake(tmp_path, 'odd', said, status)}"])
    assert "\n" not in str(error.value)


def test_a_python_that_is_not_there_or_lacks_the_engine_is_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"^needs Python 9\.9: uv python install 9\.9, or pyenv install"):
        find(["asyncio@9.9"])
    with pytest.raises(ValueError, match="no such Python"):
        find(["python:"])
    with pytest.raises(ValueError, match="there is no uvloop in /opt/odd/bin/python"):
        find([f"uvloop@{fake(tmp_path, 'python', told())}"])
    with pytest.raises(ValueError, match='unknown engine "gevent@'):
        find([f"gevent@{sys.executable}"])


def test_two_pythons_of_one_version_cannot_be_told_apart(tmp_path):
    one, other = fake(tmp_path, "one", told()), fake(tmp_path, "other", told(prefix="/opt/even"))
    again = fake(tmp_path, "again", told(executable="/opt/odd/bin/python3"))
    assert len(find([f"asyncio@{one}", f"asyncio@{again}"])) == 1
    with pytest.raises(ValueError, match=r'both lanes would be called "asyncio@3\.13"'):
        find([f"asyncio@{one}", f"asyncio@{other}"])


@pytest.mark.skipif(not PYTHONS, reason="no other Python from 3.9 on was found")
def test_a_lane_runs_on_another_python_and_takes_no_package_of_this_one(tmp_path):
    version, path = sorted(PYTHONS.items())[-1]
    row, _ = find([f"asyncio@{path}", f"threads@{path}"])
    assert row.name == f"asyncio@{version}"
    (tmp_path / "jobs.py").write_text("async def look():\n    import msgspec\n")
    with Worker(row.kind, command=row.command(), cwd=tmp_path) as worker:
        assert worker.ready["runtime"].startswith(f"CPython {version}.")
        worker.do("workload", spec="jobs:look")
        worker.do("refill", on=False)
        worker.send("target", tasks=1)
        error = worker.wait("error")
    assert "No module named 'msgspec'" in error["message"]


@pytest.mark.skipif(not shutil.which("pypy3"), reason="PyPy is not installed: apt install pypy3")
@pytest.mark.parametrize("engine", ["threads", "pool", "asyncio"])
def test_a_worker_runs_under_pypy_and_offers_only_what_that_has(engine):
    with Worker(engine, python=shutil.which("pypy3")) as worker:
        assert worker.ready["runtime"].startswith("PyPy ")
        assert not {"trace", "gc"} & set(worker.ready["can"])
        worker.do("rate", hz=50)
        worker.do("workload", spec="hold")
        assert worker.target(200)["created"] == 200
        assert worker.target(50)["cancelled"] == 150
        assert 'unknown command "trace"' in worker.refuse("trace", on=True)
        worker.do("trim")
        assert all("gc" not in tick for tick in worker.next_ticks(2))
