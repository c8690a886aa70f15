"""A plugin of pytest that adds rows to the tables of metrics before anything imports them.

``pytest -p tests.own_row FILE`` runs a file with one more metric of lanes, the peak RSS of each reading,
and one more of the groups of watched programs, the cancelled tasks of each report.
"""

import importlib.util
import sys
from pathlib import Path

NAME, FIELD, TITLE = "highest_rss", "peak_rss", "highest RSS"

ROW = f'''
    {FIELD}: Annotated[Count | None, Metric(
        "{TITLE}", BYTES, "The peak of a test.", READING, SUM, AS_OF, (TRACED,), UP, 100, "{NAME}",
        chart=MetricChart("{TITLE}", "a row of a test", 4, 4), column=CostColumn(2, 10), run=4, compared=True,
    )] = None
'''

END = "\n    @property\n    def retained("
"""What follows the last field of a sample."""

GROUP_NAME, GROUP_TITLE = "cancelled_tasks", "cancelled ones"

GROUP_ROW = f'''
    cancelled: Annotated[int | None, Metric(
        "{GROUP_TITLE}", COUNT, "Those of a test.", TICK, SUM, AT_END, worse=UP, name="{GROUP_NAME}",
        openmetrics="{GROUP_NAME}", compared=True, group_column=GroupColumn(1, 8),
    )] = None
'''

GROUP_END = '\n    @property\n    def function(self) -> Function:\n        """The function of its tasks."""'
"""What follows the last field of a group."""


def _add_row(name: str, row: str, end: str) -> None:
    assert name not in sys.modules
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    assert text.count(end) == 1
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    exec(compile(text.replace(end, row + end), spec.origin, "exec"), module.__dict__)


_add_row("concwatch.monitor.metrics.metrics", ROW, END)
_add_row("concwatch.monitor.metrics.group_status", GROUP_ROW, GROUP_END)
