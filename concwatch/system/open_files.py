"""The limits of this process, and the one on open files, of which every connection is one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

WALL = "ulimit -n"
"""How the limit is called: by the command that tells and sets it."""

LONGEST_CHAIN = 10
"""Errors looked at behind one: a client wraps the system's own three or four times."""


def raise_limit() -> None:
    """Raise the soft limit on open files to the hard one, where the system has such limits."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS names a hard limit that it does not grant
        return


def process_limits(name: str) -> Tuple[Optional[int], Optional[int]]:
    """Return the soft and the hard limit that ``resource`` calls ``name``; None for none."""
    try:
        import resource  # in some builds itself a file to open, which may be what cannot be done

        found = resource.getrlimit(getattr(resource, name))
    except (ImportError, AttributeError, OSError):  # Windows has no such limits
        return None, None
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit for limit in found)
    return soft, hard


def open_file_limit() -> Optional[int]:
    """Return the number of files that this process may have open, None where that is not known."""
    return process_limits("RLIMIT_NOFILE")[0]


def is_too_many_files(error: Optional[BaseException]) -> bool:
    """Return whether ``error`` comes from a file that could not be opened because too many are."""
    from errno import EMFILE  # only here, as everything that an idle worker can do without

    for _ in range(LONGEST_CHAIN):
        if error is None:
            break
        if isinstance(error, OSError) and error.errno == EMFILE:
            return True
        error = error.__cause__ or error.__context__
    return False
