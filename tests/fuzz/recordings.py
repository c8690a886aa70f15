"""Targets that read concwatch's own files: recordings and results."""

import math
import os
import tempfile
from functools import cache
from pathlib import Path

from concwatch.measure.comparing.comparison import Comparison, compare
from concwatch.measure.comparing.comparison_report import as_object, report_markdown, table_lines
from concwatch.measure.comparing.reading import read_bytes
from concwatch.monitor.metrics.metrics import COLUMNS
from concwatch.monitor.metrics.series import CHARTED
from concwatch.portable.protocol.units import format_count
from concwatch.recordings.export import as_csv
from concwatch.recordings.format import KIND, Line, format_position
from concwatch.recordings.listing import find_recordings
from concwatch.recordings.load import parse
from concwatch.recordings.reading import GZIP, Text, decompress
from concwatch.recordings.recording import Recording
from concwatch.ui.panels.transport import missing_parts, recorded_on
from concwatch.ui.sources.recording_source import recorded_pool_threads
from tests.fuzz.target import FuzzTarget

NAME = "some.jsonl"
FIGURES = ("\n", "[0,", "[1,", "null,", "-1,", "1e308", "9" * 18)
WORDS = (
    *FIGURES,
    f'{{"type":"{KIND}"',
    *(f'{{"type":"{line.__struct_config__.tag}"' for line in Line.__args__),
    *(f'"{key}":' for line in Line.__args__ for key in line.__struct_encode_fields__),
    *(f'"{column}"' for column in COLUMNS),
)
KEYS = ("experiment", "lanes", "tables", "cells", "rows", "unit")
RESULT_WORDS = (*FIGURES, *(f'"{key}":' for key in KEYS), '"machine":{')

MOST = 1 << 22
"""Most bytes of a decompressed input."""


def read_recording(data: bytes) -> Recording:
    """Read a recording, plain or compressed."""
    text = decompress(data, MOST) if data.startswith(GZIP) else Text(data)
    return parse(text.data, NAME, text.state)


def show(recording: Recording) -> None:
    """Read everything that screens and exports show of a recording."""
    assert math.isfinite(recording.duration)
    for at in (0.0, recording.duration / 2, recording.duration):
        view = recording.snapshot(at)
        assert len(view.lanes) == len(recording.lanes)
        for series in view.series:
            for metric in CHARTED:
                series.since(metric, at / 2)
                series.last(metric)
        view.events.since(0)
        view.marks.since(0)
        assert all(lane.slider_end for lane in view.lanes)
    for lane in recording.lanes:
        assert len(list(lane.samples())) == len(lane)
    recorded_on(recording.header).encode(errors="replace")
    missing_parts(recording)
    recorded_pool_threads(recording.header)
    for _ in as_csv(recording):
        pass


@cache
def _folder() -> Path:
    """Create a temporary folder, in memory if possible."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="concwatch-fuzz-", dir=memory))


def list_one(data: bytes) -> None:
    """List a folder with one file."""
    (_folder() / NAME).write_bytes(data)
    for summary in find_recordings(_folder()):
        format_count(summary.samples)
        format_position(summary.seconds)


def compare_with_itself(data: bytes) -> Comparison:
    """Compare a result or a recording with itself."""
    side = read_bytes(data, NAME, NAME)
    return compare(side, side, 5.0)


def report(comparison: Comparison) -> None:
    """Write all reports of a comparison."""
    as_object(comparison)
    list(table_lines(comparison))
    report_markdown(comparison)


TARGETS = (
    FuzzTarget("recordings", "recordings", read_recording, show, WORDS, 2_500),
    # A list ignores files that cannot be read, so no error is expected.
    FuzzTarget("lists", "lists of recordings", bytes, list_one, WORDS, 2_500),
    FuzzTarget("results", "what concwatch compare reads", compare_with_itself, report, RESULT_WORDS, 2_500),
)
