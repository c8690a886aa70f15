"""A recording's samples for other programs: one row a sample, all lanes in the order of time."""

import csv
import heapq
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from concwatch.lab.snapshot import COLUMNS, Count, Sample
from concwatch.recordings.recording import Recording
from concwatch.text import nearest

BATCH = 2_000
"""Rows written at once."""

SampleRow = tuple[Any, ...]


def read_columns(text: str) -> tuple[str, ...]:
    """Read names of columns, separated by commas; lane and time come first in any case.

    Raises:
        ValueError: one line that names the unknown one.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in COLUMNS:
            raise ValueError(
                f'unknown column "{name[:40]}": expected some of {",".join(COLUMNS)}'
                f"{nearest(name[:40], COLUMNS)}"
            )
    return tuple(dict.fromkeys((*COLUMNS[:2], *names)))


def rows(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[SampleRow]:
    """Yield a row a sample: the value of each column, the lane by its name; None for what was not known."""
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
    """Yield the lines of a CSV file (RFC 4180 but for the line ends), some at a time; first the header."""
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
    """Yield one JSON list with an object a sample, some at a time."""
    begin = b"[\n"
    for batch in _batches(rows(recording, columns)):
        objects = (msgspec.json.encode(dict(zip(columns, row, strict=True))) for row in batch)
        yield begin + b",\n".join(objects)
        begin = b",\n"
    yield b"\n]\n" if begin == b",\n" else b"[]\n"


def as_parquet(recording: Recording, columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """Yield one Parquet file; the recording's header is in its metadata, as JSON under ``concwatch``.

    Raises:
        ValueError: one line: it cannot be made without the extra.
    """
    problem = why_no_parquet()
    if problem:
        raise ValueError(problem)
    import pyarrow
    from pyarrow import parquet

    types = {"lane": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    for field in msgspec.structs.fields(Sample)[1:]:
        whole = field.type in (Count, Count | None)
        types[field.name] = pyarrow.int64() if whole else pyarrow.float64()
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


def why_no_parquet() -> str | None:
    """Return what to install where Parquet cannot be written, or None where it can."""
    from importlib.util import find_spec

    return None if find_spec("pyarrow") else "--parquet needs pyarrow: pip install 'concwatch[parquet]'"


Export = Callable[[Recording, Sequence[str]], Iterator[bytes]]

FORMATS: Mapping[str, Export] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}
"""Name → what yields the content. A new format is a line here and an option of the command."""
