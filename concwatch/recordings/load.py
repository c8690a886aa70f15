"""Parsing of recordings, including incomplete and damaged ones."""

import gc
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isnan, nan
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from concwatch.monitor.metrics.metrics import COLUMNS, EngineFacts, Sample
from concwatch.monitor.metrics.series import BACKFILLED, CHARTED, fill_back
from concwatch.portable.protocol.text import one_line, plain
from concwatch.portable.protocol.units import counted
from concwatch.recordings.format import KIND, VERSION, Header, JoinLine, LaneLine, Line, format_position
from concwatch.recordings.reading import DAMAGED, EXPECTED, WRITTEN, read_text
from concwatch.recordings.recording import RecordedLane, Recording


class _AnyLine(Struct):
    type: str
    version: int = 0
    concwatch: str = ""


MIN_LINE_SIZE = 8
"""Smallest average bytes of a line: millions of shorter lines would take hours to skip."""

SPARE_LINES = 10_000
"""Lines that may be shorter than that."""

CHUNK = 1_000
"""Samples decoded at once, few enough for the processor's cache."""

_any_line = msgspec.json.Decoder(_AnyLine)
_header = msgspec.json.Decoder(Header)
_line = msgspec.json.Decoder(Line)
_sample = msgspec.json.Decoder(Sample)
_values = msgspec.json.Decoder(list[Any])

_KNOWN = {line.__struct_config__.tag for line in Line.__args__}
ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Raised for a line that cannot be read; RecursionError for deeply nested brackets."""


def load(path: Path) -> Recording:
    """Read a recording, plain or compressed.

    An incomplete recording is read as far as it goes; lines that cannot be read are skipped and counted.

    Raises:
        ValueError: one line: the file cannot be read, is not a recording, or has an unknown version.
    """
    enabled = gc.isenabled()
    gc.disable()  # parsing creates no garbage cycles, and collecting among so many objects is slow
    try:
        text = read_text(path)
        return parse(text.data, str(path), text.state)
    finally:
        if enabled:
            gc.enable()


def read_header(line: bytes, name: str) -> Header:
    """Parse the first line of a recording; ``name`` is its file, for errors.

    Raises:
        ValueError: one line: it is not a recording, or has an unknown version.
    """
    try:
        found = _any_line.decode(line)
        if found.type != KIND:
            raise ValueError
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        raise ValueError(f'"{name}" is not {EXPECTED}') from None
    version = found.version
    if version > VERSION:
        raise ValueError(
            f'"{name}" was written by a newer concwatch (version {version} of the format, '
            f"not {VERSION} or older); upgrade with pip install -U concwatch"
        )
    unknown = f'"{name}" has an unknown version: '
    if version < VERSION:
        by = f", which concwatch {found.concwatch} wrote" if found.concwatch else ""
        raise ValueError(f"{unknown}{version}{by}; expected {VERSION}")
    try:
        header = _header.decode(line)
    except ERRORS as error:
        raise ValueError(f'"{name}": its first line is damaged ({one_line(str(error))})') from None
    if header.columns[:2] != COLUMNS[:2]:
        raise ValueError(f"{unknown}its samples do not begin with a lane and a time")
    return header


def parse(text: bytes, name: str, state: str = "") -> Recording:
    """Parse the text of a recording, whose file is called ``name``; ``state`` is that of its `Text`.

    Raises:
        ValueError: one line: it is not a recording, or has an unknown version.
    """
    if not text or text.isspace():
        raise ValueError(f'"{name}" is empty, not {EXPECTED}')
    if (text.count(b"\n") - SPARE_LINES) * MIN_LINE_SIZE > len(text):
        raise ValueError(f'"{name}" is not {EXPECTED}; its lines are too short')
    first, *lines = text.split(b"\n")
    header = read_header(first, name)
    if lines:
        try:
            msgspec.json.decode(lines[-1])
        except ERRORS:  # it is cut off, or empty
            lines.pop()
    samples: defaultdict[bytes, list[bytes]] = defaultdict(list)  # by prefix: b"[2"
    objects: list[bytes] = []
    for line in lines:
        (samples[line[: line.find(b",")]] if line[:1] == b"[" else objects).append(line)
    if header.columns[: len(COLUMNS)] != COLUMNS:
        for group in samples.values():
            group[:] = [_reorder(line, header.columns) for line in group]
    damaged: list[bytes] = []
    known = list(_read_objects(objects, damaged))
    lanes = _read_lanes(header, known, samples, damaged)
    recording = Recording(header, lanes, known, len(damaged))
    if recording.end is None:
        where = f"{format_position(recording.duration)}, {counted(recording.samples, 'sample')}"
        recording.cut = f"{_CUT.get(state, 'cut off after')} {where}"
    elif state == DAMAGED:
        recording.cut = "its compressed text is damaged"
    return recording


_CUT = {DAMAGED: "its compressed text is damaged: cut off after", WRITTEN: "being written, so far"}


def _reorder(line: bytes, columns: Sequence[str]) -> bytes:
    """Convert a sample with other columns to `COLUMNS`: an older or a newer concwatch wrote it."""
    try:
        values = dict(zip(columns, _values.decode(line), strict=False))
        return msgspec.json.encode([values.get(column) for column in COLUMNS])
    except (*ERRORS, OverflowError):
        return b""  # counts as damaged


def _read_objects(lines: Sequence[bytes], damaged: list[bytes]) -> Iterator[Line]:
    """Yield the parsed lines, with terminal control characters removed from their texts."""
    for text in lines:
        try:
            line = _line.decode(text)
        except ERRORS:
            if not _is_of_newer_type(text):
                damaged.append(text)
            continue
        texts = {name: plain(value) for name, value in structs.asdict(line).items() if type(value) is str}
        yield structs.replace(line, **texts)


def _is_of_newer_type(line: bytes) -> bool:
    try:
        return _any_line.decode(line).type not in _KNOWN
    except ERRORS:
        return False


def _read_lanes(
    header: Header, lines: Sequence[Line], samples: dict[bytes, list[bytes]], damaged: list[bytes]
) -> list[RecordedLane]:
    joins = {line.lane: line for line in lines if isinstance(line, JoinLine)}
    engines = list(header.lanes)
    while len(engines) in joins:
        join = joins[len(engines)]
        engines.append(EngineFacts(*(getattr(join, name) for name in EngineFacts.__struct_fields__)))
    changes: list[list[LaneLine]] = [[] for _ in engines]
    for line in lines:
        if isinstance(line, LaneLine) and 0 <= line.lane < len(changes):
            changes[line.lane].append(line)
    own: list[list[bytes]] = [[] for _ in engines]
    for key, group in samples.items():
        number = key[1:].strip()
        known = number.isdigit() and int(number) < len(own)
        (own[int(number)] if known else damaged).extend(group)
    return [_read_lane(*lane, damaged) for lane in zip(engines, own, changes, strict=True)]


def _read_lane(
    engine: EngineFacts, lines: list[bytes], changes: Sequence[LaneLine], damaged: list[bytes]
) -> RecordedLane:
    times = array("d")
    metrics = {metric: array("d") for metric in CHARTED}
    kept: list[bytes] = []
    for start in range(0, len(lines), CHUNK):
        chunk = lines[start : start + CHUNK]
        try:
            samples = list(map(_sample.decode, chunk))
        except ERRORS:
            chunk, samples = _read_one_by_one(chunk, damaged)
        kept += chunk
        times.extend(map(_time, samples))
        for metric, column in metrics.items():
            column.extend(_column(list(map(_GET[metric], samples))))
    if list(times) != sorted(times):
        order = sorted(range(len(times)), key=times.__getitem__)
        times = array("d", map(times.__getitem__, order))
        kept = [kept[index] for index in order]
        metrics = {metric: array("d", map(column.__getitem__, order)) for metric, column in metrics.items()}
    for metric in BACKFILLED:
        rates = metrics[metric]
        # A rate also holds for the samples without one that precede it.
        for before in [at for at in range(len(rates) - 1) if isnan(rates[at]) and not isnan(rates[at + 1])]:
            fill_back(rates, metrics["rss"], before + 1)
    return RecordedLane(engine, times, metrics, kept, changes)


_time = attrgetter("time")
_GET = {metric: attrgetter(metric) for metric in CHARTED}


def _column(values: list[float | None]) -> "array[float]":
    try:
        return array("d", values)  # type: ignore[arg-type]  # faster than searching for None first
    except TypeError:
        return array("d", [nan if value is None else value for value in values])


def _read_one_by_one(lines: Sequence[bytes], damaged: list[bytes]) -> tuple[list[bytes], list[Sample]]:
    kept, samples = [], []
    for line in lines:
        try:
            samples.append(_sample.decode(line))
            kept.append(line)
        except ERRORS:
            damaged.append(line)
    return kept, samples
