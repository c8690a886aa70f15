"""Why the system would not start a process, with the limit that was hit."""

from concwatch import open_files
from concwatch.units import format_count
from concwatch.worker.walls import wall_hit


def tell_refusal(error: BaseException) -> str:
    """Say it: the system's own words, and behind them the limit where one is to blame."""
    if open_files.is_refusal(error):
        wall, value = open_files.WALL, open_files.limit_now()
    elif isinstance(
        error, BlockingIOError | RuntimeError
    ):  # no process more, or no thread to wait for its end
        wall, value = wall_hit()
    else:
        return str(error)
    words = error.strerror if isinstance(error, OSError) else str(error)
    return f"{words}: {wall}" + ("" if value is None else f" ({format_count(value)})")
