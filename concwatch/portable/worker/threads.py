"""The default number of threads of a pool."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def default_threads(cores: Optional[int] = None) -> int:
    """Return how many threads ``ThreadPoolExecutor()`` starts at most, by default, on ``cores`` cores."""
    return min(32, (cores or os.cpu_count() or 1) + 4)
