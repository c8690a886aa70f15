"""Resource limits of this process, and the one on open files, which includes connections."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

NAME = "ulimit -n"
"""The name of the limit: the shell command that shows and sets it."""

MAX_CAUSES = 10
"""How many causes of an error are checked; HTTP clients wrap an OSError three or four times."""


def raise_limit() -> None:
    """Raise the soft limit on open files to the hard limit, on systems that have such limits."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS reports a hard limit that it does not grant
        return


def process_limits(name: str) -> Tuple[Optional[int], Optional[int]]:
    """Return the soft and the hard limit of a resource, such as ``RLIMIT_NOFILE``; None for unlimited."""
    try:
        import resource  # may itself fail when too many files are open

        found = resource.getrlimit(getattr(resource, name))
    except (ImportError, AttributeError, OSError):  # Windows has no such limits
        return None, None
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit for limit in found)
    return soft, hard


def open_file_limit() -> Optional[int]:
    """Return the number of files that this process may have open; None if unknown."""
    return process_limits("RLIMIT_NOFILE")[0]


def is_too_many_files(error: Optional[BaseException]) -> bool:
    """Return whether ``error`` or one of its causes is "Too many open files"."""
    from errno import EMFILE  # not at the top: an idle worker does not need it

    for _ in range(MAX_CAUSES):
        if error is None:
            break
        if isinstance(error, OSError) and error.errno == EMFILE:
            return True
        error = error.__cause__ or error.__context__
    return False
