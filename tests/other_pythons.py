"""The other Pythons of this machine, from 3.9 on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
PROBE = "import sys; print(sys.executable, *sys.version_info[:2], sys.implementation.name)"


def pythons():
    """Return interpreters from 3.9 on by version: those of OTHER_PYTHONS, or the oldest and newest others."""
    candidates = [str(path) for path in sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin/python3"))]
    names = ["/opt/python/bin/python3", *(f"python3.{minor}" for minor in range(9, 20)), "pypy3"]
    candidates += [path for name in names if (path := shutil.which(name))]
    # Concurrently: a shim of pyenv takes 0.1 s, and every process of pytest-xdist runs this.
    probes = [subprocess.Popen([path, "-c", PROBE], **PIPES) for path in candidates]
    found = {}
    for probe in probes:
        output, _ = probe.communicate()
        if probe.returncode == 0:  # a shim of pyenv may be broken
            path, major, minor, kind = output.rsplit(maxsplit=3)
            version = (int(major), int(minor))
            if (3, 9) <= version != sys.version_info[:2] or kind == "pypy":
                found.setdefault((kind == "pypy", version), path)
    wanted = os.environ.get("OTHER_PYTHONS", "").split()
    kinds = [sorted(key for key in found if key[0] is pypy) for pypy in (False, True)]
    return {
        f"{'PyPy' if pypy else 'CPython'} {major}.{minor}": found[pypy, (major, minor)]
        for keys in kinds
        for pypy, (major, minor) in keys
        if (f"{major}.{minor}" in wanted if wanted else (pypy, (major, minor)) in (keys[0], keys[-1]))
    }


PYTHONS = pythons()
needs_one = pytest.mark.skipif(not PYTHONS, reason="no other Python from 3.9 on was found")
