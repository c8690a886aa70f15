"""Which versions of what are installed."""

import platform
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

from concwatch.lab.machine import program_version

NEEDED = ("textual", "plotext", "psutil", "uvloop", "click", "msgspec", "platformdirs")
OPTIONAL = {
    "gevent": "gevent",
    "aiohttp": "http",
    "httpx": "http",
    "requests": "http",
    "pyperf": "pyperf",
    "pyarrow": "parquet",
    "resvg-py": "shots",
    "pillow": "shots",
    "textual-serve": "web",
}
"""Package → the extra that brings it."""


class Versions(Struct, frozen=True):
    """Versions as text; None for what is not installed."""

    concwatch: str
    python: str
    needed: dict[str, str | None]
    optional: dict[str, str | None]


def look_at_versions() -> Versions:
    """Look them up, without loading any of them."""
    return Versions(
        concwatch=program_version(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        needed={name: _version(name) for name in NEEDED},
        optional={name: _version(name) for name in OPTIONAL},
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
