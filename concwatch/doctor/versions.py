"""Which concwatch and Python run, and which packages of the extras are missing."""

import platform
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

from concwatch.system.machine import program_version

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
    """Versions as text."""

    concwatch: str
    python: str
    missing: dict[str, str]
    """Package → the extra that brings it."""


def look_at_versions() -> Versions:
    """Return them, without loading any package."""
    return Versions(
        concwatch=program_version(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        missing={name: extra for name, extra in OPTIONAL.items() if not _is_installed(name)},
    )


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False
