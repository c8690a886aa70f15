"""Workers under the oldest and the newest other Python, without installed packages."""

import json
import subprocess
import sys

import pytest

from concwatch.monitor.workers.catalog import find_engines
from tests.other_pythons import PYTHONS, needs_one
from tests.worker_driver import Worker

pytestmark = pytest.mark.real


@needs_one
@pytest.mark.parametrize(
    ("python", "engine"),
    [
        *((python, "asyncio") for python in PYTHONS),
        *((python, "pool") for python in [*PYTHONS][:: len(PYTHONS) - 1 or 1]),
    ],
)
def test_a_worker_runs_under_another_python(python, engine, tmp_path):
    kind = "async def" if engine == "asyncio" else "def"
    (tmp_path / "jobs.py").write_text(f"{kind} fail(): raise ValueError('no luck')\n")
    with Worker(engine, python=PYTHONS[python], cwd=tmp_path) as worker:
        assert python.startswith("PyPy") or worker.ready["runtime"].startswith(f"{python}.")
        worker.do("rate", hz=50)
        worker.do("workload", spec="hold")
        assert worker.target(200)["created"] == 200
        assert worker.target(50)["cancelled"] == 150
        queued = 50 - int(worker.ready["flags"][0].split()[0]) if engine == "pool" else 0
        tick = worker.tick(lambda tick: tick["queued"] == queued)
        assert (tick["created"], tick["live"], tick["cancelled"]) == (200, 50, 150)
        if python.startswith("PyPy"):  # supports fewer commands
            assert not {"trace", "gc"} & set(worker.ready["can"])
            assert 'unknown command "trace"' in worker.refuse("trace", on=True)
            assert "gc" not in tick
        else:
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


# Interpreters given by name or path.


@pytest.fixture
def fake_python(tmp_path):
    """Creates fake interpreters: scripts that print the report of a Python with some changes."""
    report = {
        "executable": "/opt/fake/bin/python",
        "prefix": "/opt/fake",
        "version": [3, 13, 1],
        "implementation": "cpython",
        "free_threaded": False,
        "packages": [],
    }

    def make(name="python", text=None, status=0, **changes):
        path = tmp_path / name
        text = json.dumps(report | changes) if text is None else text
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("changes", "label", "more"),
    [
        ({}, "3.13", ["asyncio-eager"]),
        ({"free_threaded": True}, "3.13t", ["asyncio-eager"]),
        ({"implementation": "pypy", "version": [3, 10, 14]}, "pypy3.10", []),
        (
            {"packages": ["uvloop"], "version": [3, 14, 0]},
            "3.14",
            ["uvloop", "asyncio-eager", "interpreters"],
        ),
    ],
)
def test_a_python_provides_all_engines_that_it_supports(fake_python, changes, label, more):
    rows = find_engines([f"python:{fake_python(**changes)}"])
    assert [row.name for row in rows] == [f"{kind}@{label}" for kind in ("asyncio", "threads", *more)]
    assert all(row.missing() is None for row in rows)
    assert all(row.command()[0] == "/opt/fake/bin/python" for row in rows)
    assert all(("-P" in row.command()) == (label != "pypy3.10") for row in rows)


@pytest.mark.parametrize(
    ("engine", "python", "message"),
    [
        ("asyncio", {"text": "not JSON"}, "is not a Python that concwatch can use: not JSON"),
        ("asyncio", {"text": "", "status": 127}, "is not a Python that concwatch can use: no output"),
        ("asyncio", {"text": "[1, 2]"}, "is not a Python that concwatch can use"),
        ("asyncio", {"version": [3, 8, 18]}, r"is Python 3\.8\.18; 3\.9 is the oldest that can be used"),
        ("asyncio", {"version": "three"}, "is not a Python that concwatch can use"),
        ("uvloop", {}, "uvloop is not installed in /opt/fake/bin/python"),
        ("gevent", {}, 'unknown engine "gevent@'),
        ("asyncio-eager", {"version": [3, 11, 7]}, r"needs Python 3\.12 or newer; /opt/.* is 3\.11\.7"),
        ("interpreters", {}, r"needs Python 3\.14 or newer; /opt/.* is 3\.13\.1"),
    ],
)
def test_an_unsuitable_python_is_rejected_in_one_line(fake_python, engine, python, message):
    with pytest.raises(ValueError, match=message) as error:
        find_engines([f"{engine}@{fake_python(**python)}"])
    assert "\n" not in str(error.value)


def test_a_missing_or_too_old_python_is_reported_with_what_to_use(monkeypatch):
    with pytest.raises(ValueError, match=r"^needs Python 9\.9: uv python install 9\.9, or pyenv install"):
        find_engines(["asyncio@9.9"])
    with pytest.raises(ValueError, match=r"^Python 2\.7 is too old; the oldest that works is 3\.9"):
        find_engines(["asyncio@2.7"])
    with pytest.raises(ValueError, match="no Python"):
        find_engines(["python:"])
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    for name, version in (("asyncio-eager", "3.12"), ("interpreters", "3.14")):
        needed = f"needs Python {version} or newer; name one, as in {name}@{version}"
        assert find_engines([name])[0].missing() == needed


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python has eager tasks")
def test_a_worker_on_a_too_old_python_names_the_required_version():
    command = [sys.executable, "-m", "concwatch.portable.worker", "asyncio-eager"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("cannot run here: ImportError: needs Python 3.12 or newer\n")


def test_two_pythons_of_one_version_are_rejected(fake_python):
    one, other = fake_python("one"), fake_python("other", prefix="/opt/other")
    again = fake_python("again", executable="/opt/fake/bin/python3")
    assert len(find_engines([f"asyncio@{one}", f"asyncio@{again}"])) == 1
    with pytest.raises(ValueError, match=r'both lanes would be called "asyncio@3\.13"'):
        find_engines([f"asyncio@{one}", f"asyncio@{other}"])


@needs_one
def test_a_lane_on_another_python_does_not_import_packages_of_this_one(tmp_path):
    row, *_ = find_engines([f"asyncio@{list(PYTHONS.values())[-1]}"])
    (tmp_path / "jobs.py").write_text("async def load():\n    import msgspec\n")
    with Worker(row, cwd=tmp_path) as worker:
        assert worker.ready["runtime"].split()[1].startswith(row.name.rpartition("@")[2].lstrip("py"))
        worker.do("workload", spec="jobs:load")
        worker.do("refill", on=False)
        worker.send("target", tasks=1)
        assert "No module named 'msgspec'" in worker.wait("error")["message"]
