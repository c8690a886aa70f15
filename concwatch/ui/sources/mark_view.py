"""The marks of a snapshot, for the charts and the text at the cursor."""

from collections.abc import Mapping, Sequence

from concwatch.charts.annotations import Annotation
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import KEPT, NOTE, Mark, mark_text
from concwatch.portable.protocol.units import format_clock, format_seconds

MARKS = 200
"""Maximum number of notes, and of commands, on the charts."""

DESCRIBED = 2
"""Maximum number of marks described at the cursor."""


def _recent(snapshot: Snapshot) -> Sequence[Mark]:
    """Return the last commands and the last notes; many commands do not hide a note."""
    marks = snapshot.marks.since(snapshot.marks.count - KEPT)
    notes = [mark for mark in marks if mark.kind == NOTE]
    return [*[mark for mark in marks if mark.kind != NOTE][-MARKS:], *notes[-MARKS:]]


def annotations(
    snapshot: Snapshot, seconds: float, colors: Mapping[str, str], common: str, note: str
) -> list[Annotation]:
    """Return the marks of the last ``seconds``; notes are last, so that they are drawn on top.

    Args:
        snapshot: the snapshot that is shown.
        seconds: time window of the charts.
        colors: the colour of each lane, by name.
        common: the colour of commands to all lanes.
        note: the colour of notes.
    """
    began = snapshot.time - snapshot.elapsed
    return [
        Annotation(began + mark.time, note, mark.text)
        if mark.kind == NOTE
        else Annotation(began + mark.time, colors.get(mark.lane, common), "")
        for mark in _recent(snapshot)
        if mark.time >= snapshot.elapsed - seconds
    ]


def block_annotations(snapshot: Snapshot, seconds: float, color: str) -> list[Annotation]:
    """Return a mark at each block of an event loop in the last ``seconds``."""
    began, start = snapshot.time - snapshot.elapsed, snapshot.elapsed - seconds
    return [Annotation(began + mark.time, color) for mark in _blocks(snapshot) if mark.time >= start]


def _blocks(snapshot: Snapshot) -> Sequence[Mark]:
    return snapshot.blocks.since(snapshot.blocks.count - KEPT)


def describe(snapshot: Snapshot, time: float, span: float) -> Sequence[str]:
    """Return the cursor's time, and the marks of the ``span`` seconds before it."""
    moment = time - (snapshot.time - snapshot.elapsed)
    marks = [*_blocks(snapshot), *_recent(snapshot)]
    texts = [mark_text(mark) for mark in marks if moment - span <= mark.time <= moment]
    texts.reverse()  # notes before commands, the newest first
    more = [f"+{len(texts) - DESCRIBED}"] if len(texts) > DESCRIBED else []
    ago = f"−{format_seconds(snapshot.time - time)}" if snapshot.time - time >= 0.05 else "now"
    clock = format_clock(moment) if moment >= 0 else "before the start"
    return [f"{clock} ({ago})", *texts[:DESCRIBED], *more]
