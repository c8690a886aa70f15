"""A plugin of pytest that adds a row to the table of metrics before anything imports it.

``pytest -p tests.own_row FILE`` runs a file with one more metric: the peak RSS as each reading has it.
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


def _add_row() -> None:
    name = "concwatch.monitor.metrics"
    assert name not in sys.modules
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    assert text.count(END) == 1
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    exec(compile(text.replace(END, ROW + END), spec.origin, "exec"), module.__dict__)


_add_row()
