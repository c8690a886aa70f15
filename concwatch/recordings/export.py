"""Export of a recording's samples for other programs: one row per sample, ordered by time."""

import csv
import heapq
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from concwatch.monitor.metrics.metrics import COLUMNS, Sample
from concwatch.portable.protocol.text import suggest
from concwatch.recordings.recording import Recording

BATCH = 2_000
"""Rows that are written at once."""

SampleRow = tuple[Any, ...]


def read_columns(text: str) -> tuple[str, ...]:
    """Parse column names separated by commas; lane and time always come first.

    Raises:
        ValueError: one line that names the unknown column.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in COLUMNS:
            near = suggest(name[:40], COLUMNS) or ";"
            raise ValueError(f'unknown column "{name[:40]}"{near} expected some of {",".join(COLUMNS)}')
    return tuple(dict.fromkeys((*COLUMNS[:2], *names)))


def rows(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[SampleRow]:
    """Yield a row for each sample: the value of each column, None if unknown, and the lane's name."""
    pick = attrgetter(*columns)
    lanes = [lane.name for lane in recording.lanes]
    place = columns.index("lane")
    samples: Iterable[Sample] = heapq.merge(
        *(lane.samples() for lane in recording.lanes), key=attrgetter("time")
    )
    for sample in samples:
        values = pick(sample)
        yield (*values[:place], lanes[sample.lane], *values[place + 1 :])


def _batches(found: Iterator[SampleRow]) -> Iterator[list[SampleRow]]:
    while batch := list(islice(found, BATCH)):
        yield batch


def as_csv(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Yield a CSV file in pieces (RFC 4180 except for line ends), beginning with the header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for batch in _batches(rows(recording, columns)):
        writer.writerows(batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def as_json(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Yield a JSON list of one object per sample, in pieces."""
    begin = b"[\n"
    for batch in _batches(rows(recording, columns)):
        objects = (msgspec.json.encode(dict(zip(columns, row, strict=True))) for row in batch)
        yield begin + b",\n".join(objects)
        begin = b",\n"
    yield b"\n]\n" if begin == b",\n" else b"[]\n"


def as_parquet(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Yield a Parquet file, whose metadata has the recording's header as JSON under ``concwatch``.

    Raises:
        ValueError: one line: pyarrow is not installed.
    """
    problem = parquet_problem()
    if problem:
        raise ValueError(problem)
    import pyarrow
    from pyarrow import parquet

    types = {"lane": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    hints = get_type_hints(Sample)
    for name in COLUMNS[1:]:
        types[name] = pyarrow.int64() if hints[name] in (int, int | None) else pyarrow.float64()
    header = msgspec.json.encode(recording.header)
    schema = pyarrow.schema([(name, types[name]) for name in columns], metadata={"concwatch": header})
    file = io.BytesIO()
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in _batches(rows(recording, columns)):
            arrays = [
                pyarrow.array(values, types[name])
                for name, values in zip(columns, zip(*batch, strict=True), strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
    yield file.getvalue()


def parquet_problem() -> str | None:
    """Return why Parquet cannot be written and what to install, or None if it can."""
    from importlib.util import find_spec

    return None if find_spec("pyarrow") else "--parquet needs pyarrow: pip install 'concwatch[parquet]'"


Export = Callable[[Recording, Sequence[str]], Iterator[bytes]]


class ExportFormat(Struct, frozen=True):
    """A format that samples are exported in; its option has its name."""

    write: Export
    """Yields the content."""
    help: str
    """What it is, for the help of its option."""
    problem: Callable[[], str | None] | None = None
    """Returns why it cannot be written, or None if it can; None if it always can."""
    is_text: bool = True
    """Whether it can be printed on a terminal."""


FORMATS: Mapping[str, ExportFormat] = {
    "csv": ExportFormat(as_csv, "CSV: one line per sample, after a line with the column names."),
    "json": ExportFormat(as_json, "JSON: one list with an object for each sample."),
    "parquet": ExportFormat(
        as_parquet, 'Apache Parquet; needs the extra "parquet".', parquet_problem, is_text=False
    ),
}
"""The formats by name: a new one is a row here."""
