"""The limit on open files, of which every connection is one."""

from __future__ import annotations

from contextlib import suppress


def raise_limit() -> None:
    """Raise the soft limit on open files to the hard one, where the system has such limits."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS names a hard limit that it does not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
