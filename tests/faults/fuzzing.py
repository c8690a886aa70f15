"""A million inputs for everything that reads what comes from outside; the ordinary suite tries hundreds."""

import importlib.util
import re
import subprocess
import sys
from functools import partial

from tests.faults.fault import Fault, Impossible
from tests.fuzz.target import LIMIT, MEMORY, RUNS
from tests.fuzz.targets import TARGETS


def inject(name: str) -> str:
    """Fuzz one target in a process of its own, since the fuzzer ends its process when it is done."""
    if importlib.util.find_spec("atheris") is None:
        raise Impossible("atheris is not installed: pip install 'concwatch[fuzz]'")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, "--runs", str(RUNS)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    tried = re.search(r"^Done (\d+) runs", done.stderr, re.M)
    assert done.returncode == 0, done.stderr[-3000:]
    assert tried is not None, done.stderr[-3000:]
    assert int(tried[1]) >= RUNS, tried[0]
    return ""


FAULTS = tuple(
    Fault(
        f"fuzz-{target.name}",
        f"{RUNS:,} inputs made up by a fuzzer: {target.what}",
        f"a value, or an error of one line; at most {LIMIT} s each and {MEMORY:,} MiB in all",
        partial(inject, target.name),
        times=1,
        short=False,
        seconds=7_200,
    )
    for target in TARGETS
)
