"""The stream on which a bridge sends reports. Standard library, Python 3.9."""

from __future__ import annotations

import json
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class ReportStream:
    """Standard output, to which several threads write whole lines."""

    def __init__(self, on_closed: Callable[[], None]) -> None:
        """Take over standard output. ``on_closed`` is called when the reader has closed it."""
        self._on_closed = on_closed
        self._descriptor = os.dup(1)
        os.dup2(2, 1)  # other output goes to standard error, not into the wire
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Write whole lines."""
        rest = memoryview(data)
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                self._on_closed()

    def send(self, type_: str, **fields: Any) -> None:
        """Send one report."""
        self.write(json.dumps({"type": type_, **fields}).encode() + b"\n")
