"""What concwatch wrote once: recordings and results, read and then looked at as screens and tables do."""

import math
import os
import tempfile
from functools import cache
from pathlib import Path

from concwatch.comparing.as_json import as_object
from concwatch.comparing.comparison import compare
from concwatch.comparing.reading import read_bytes
from concwatch.comparing.report import report_markdown, table_lines
from concwatch.lab.series import METRICS
from concwatch.lab.snapshot import COLUMNS
from concwatch.recordings.export import as_csv
from concwatch.recordings.format import KIND, Line, format_position
from concwatch.recordings.listing import find_recordings
from concwatch.recordings.load import parse
from concwatch.recordings.reading import GZIP, Text, decompress
from concwatch.recordings.recording import Recording
from concwatch.ui.recording_source import own_threads
from concwatch.ui.screens.replay import tell_facts, tell_lack
from concwatch.units import format_count
from tests.fuzz.target import refused

NAME = "some.jsonl"
WORDS = (
    "\n",
    "[0,",
    "[1,",
    "null,",
    "-1,",
    "1e308",
    "9" * 18,
    f'{{"type":"{KIND}"',
    *(f'{{"type":"{line.__struct_config__.tag}"' for line in Line.__args__),
    *(f'"{key}":' for line in Line.__args__ for key in line.__struct_fields__),
    *(f'"{column}"' for column in COLUMNS),
)
RESULT_WORDS = (
    *WORDS[:7],
    '"experiment":',
    '"lanes":',
    '"tables":',
    '"cells":',
    '"rows":',
    '"machine":{',
    '"unit":',
)

MOST = 1 << 22
"""Bytes that a compressed input may hold."""


def look(recording: Recording) -> None:
    """Look at all that screens and exports show of it."""
    assert math.isfinite(recording.duration)
    for at in (0.0, recording.duration / 2, recording.duration):
        view = recording.snapshot(at)
        assert len(view.lanes) == len(recording.lanes)
        for series in recording.series_until(at):
            for metric in METRICS:
                series.since(metric, at / 2)
                series.last(metric)
        recording.events(at).since(0)
        recording.marks(at).since(0)
    for number, lane in enumerate(recording.lanes):
        recording.largest_target(number)
        assert len(list(lane.samples())) == len(lane)
    tell_facts(recording.header).encode(errors="replace")
    tell_lack(recording)
    own_threads(recording.header)
    for _ in as_csv(recording):
        pass


def check_recording(data: bytes) -> None:
    """A recording, plain or compressed."""
    try:
        text = decompress(data, MOST) if data.startswith(GZIP) else Text(data)
        recording = parse(text.data, NAME, text.lack)
    except ValueError as error:
        refused(error)
        return
    look(recording)


@cache
def _folder() -> Path:
    """Make a folder in memory where there is such a place."""
    memory = Path("/dev/shm")
    return Path(
        tempfile.mkdtemp(prefix="concwatch-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    )


def check_list(data: bytes) -> None:
    """A folder with one file, to be listed."""
    (_folder() / NAME).write_bytes(data)
    for summary in find_recordings(_folder()):
        format_count(summary.samples)
        format_position(summary.seconds)


def check_result(data: bytes) -> None:
    """A result or a recording, compared with itself."""
    try:
        side = read_bytes(data, NAME, NAME)
    except ValueError as error:
        refused(error)
        return
    try:
        comparison = compare(side, side, 5.0)
    except ValueError as error:
        refused(error)
        return
    as_object(comparison)
    list(table_lines(comparison))
    report_markdown(comparison)
