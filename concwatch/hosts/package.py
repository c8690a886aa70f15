"""What is sent to another host: worker, agent, the readers of the system and the bridge, in one archive."""

import io
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]

PARTS = (
    "__init__.py", "wire.py", "text.py", "worker", "agent", "system/__init__.py", "system/open_files.py",
    "system/walls.py", "system/proc.py", "system/processes.py", "system/spawn.py", "links/__init__.py",
    "links/injection.py", "hosts/__init__.py", "hosts/bridge.py", "hosts/builder.py",
    "hosts/machine_report.py", "hosts/memory_files.py",
    "hosts/watcher.py",
)  # fmt: skip
"""Files and folders of this package: the standard library alone, and the syntax of Python 3.9."""

_SAME_TIME = (1980, 1, 1, 0, 0, 0)


def _files() -> list[Path]:
    found = []
    for part in PARTS:
        path = PACKAGE / part
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


@cache
def archive() -> bytes:
    """Return the archive: a zip file, the same bytes for the same source."""
    import zipfile  # only here: the first frame can do without

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for path in _files():
            name = zipfile.ZipInfo(f"concwatch/{path.relative_to(PACKAGE)}", _SAME_TIME)
            package.writestr(name, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


@cache
def _boot() -> bytes:
    return f"size = {len(archive())}\n".encode() + (PACKAGE / "hosts" / "boot.py").read_bytes()


def code() -> str:
    """Return what ``python3 -c`` is given: one word, which means the same with and without a shell between.

    ``ssh`` hands its words to a shell, which takes the quotes away; ``docker exec`` passes them as they are.
    Both readings are one assignment that runs what comes first on standard input: of a set, and of an
    f-string.
    """
    return f"""f=f'={{exec(__import__("sys").stdin.buffer.read({len(_boot())}))}}'"""


def payload() -> bytes:
    """Return what standard input begins with, before the first line of the wire."""
    return _boot() + archive()
