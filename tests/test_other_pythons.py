"""A worker under every other Python that is found, with nothing installed there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker_driver import Worker

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
