"""The glossary of the screen of a watched program; its columns come from the tables of metrics."""

from concwatch.monitor.metrics.metric import DISTURBED, MARKS
from concwatch.monitor.metrics.metrics import SAMPLED_METRICS
from concwatch.ui.dialogs.help import Rows
from concwatch.ui.widgets.lanes.process_list import LABELS
from concwatch.ui.widgets.tables.block_table import COLUMNS as BLOCK_COLUMNS
from concwatch.ui.widgets.tables.group_table import COLUMNS as GROUP_COLUMNS

_CHARTS = tuple(
    (row.title, row.meaning) for name in ("lag", "cpu") for row in SAMPLED_METRICS if row.field == name
)
"""The charts whose titles say least."""

WORDS: Rows = (
    ("task", "a task of asyncio or trio, or a greenlet, that the program has created"),
    ("group", "the tasks that run the same coroutine function; each has a row"),
    *(column.about for column in GROUP_COLUMNS),
    ("leak", "a group, threads, a queue, files or memory that grow, and that nothing seems to end"),
    ("block", "time in which a task, or the garbage collector, kept an event loop from running others: B"),
    *(column.about for column in BLOCK_COLUMNS),
    *LABELS.items(),
    *_CHARTS,
    *((mark, meaning) for mark, meaning in MARKS.items() if mark != DISTURBED),
)
"""Words of the tables, the list of processes and the charts, in the order in which they are met."""
