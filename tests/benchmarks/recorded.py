"""The real screen, made as ``concwatch`` makes it, which also writes down when each RSS sample was taken.

``python -m tests.benchmarks.recorded FILE trace|no-trace`` writes, at its end, a JSON list of
[seconds, asyncio's live tasks, asyncio's target], one for each sample of the asyncio lane.
"""

import gc
import json
import sys
import time
from pathlib import Path
from typing import ClassVar

from concwatch.lab.catalog import SHOWN
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.ui.app import ConcwatchApp


class RecordingLab(Lab):
    """A lab that notes when it has looked at asyncio's worker."""

    samples: ClassVar[list[tuple[float, int, int]]] = []

    def step(self, now: float | None = None) -> None:
        """Sample every lane once."""
        lane = next(lane for lane in self.lanes if lane.engine.name == "asyncio")
        before = len(lane.series)
        super().step(now)
        if len(lane.series) != before:
            self.samples.append((time.monotonic(), lane.live, lane.target))


def main() -> None:
    """Run the screen, and write the samples when it has ended."""
    gc.disable()  # as at every start; the app switches it on again
    file, trace = sys.argv[1:]
    settings = Settings(workload="sleep:600", trace=trace == "trace")
    app = ConcwatchApp(lambda: RecordingLab(SHOWN, settings=settings))
    app.run()
    Path(file).write_text(json.dumps(RecordingLab.samples))
    sys.exit(app.return_code or 0)


if __name__ == "__main__":
    main()
