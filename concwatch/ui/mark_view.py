"""The marks of a source, as the charts point them out and the cursor tells of them."""

from collections.abc import Mapping, Sequence

from concwatch.charts.annotations import Annotation
from concwatch.lab.events import KEPT, NOTE, Mark, mark_text
from concwatch.lab.snapshot import Snapshot
from concwatch.ui.source import Source
from concwatch.units import format_clock, format_seconds

MARKS = 200
"""Notes, and commands, that are shown at most."""

TOLD = 2
"""Marks that the cursor tells of at most."""


class MarkView:
    """Looks up marks by the time that the charts show."""

    def __init__(self, source: Source) -> None:
        """Look at the marks of ``source``."""
        self._source = source

    def _recent(self) -> Sequence[Mark]:
        """Return the last commands and the last notes; no number of commands hides a note."""
        log = self._source.marks
        marks = log.since(log.count - KEPT)
        notes = [mark for mark in marks if mark.kind == NOTE]
        return [*[mark for mark in marks if mark.kind != NOTE][-MARKS:], *notes[-MARKS:]]

    def moments(
        self, view: Snapshot, seconds: float, colors: Mapping[str, str], common: str, note: str
    ) -> list[Annotation]:
        """Return the marks of the last ``seconds``: notes with their text, commands as a tick.

        Those with a text are last, so that they are on top.

        Args:
            view: what is shown.
            seconds: that the charts show.
            colors: of the lanes, by name.
            common: the colour of a command to all lanes.
            note: the colour of a note.
        """
        began = view.time - view.elapsed
        return [
            Annotation(began + mark.time, note, mark.text)
            if mark.kind == NOTE
            else Annotation(began + mark.time, colors.get(mark.lane, common), "")
            for mark in self._recent()
            if mark.time >= view.elapsed - seconds
        ]

    def tell(self, view: Snapshot, time: float, span: float) -> str:
        """Return where the cursor stands, and what was asked for or noted within ``span`` seconds before."""
        moment = time - (view.time - view.elapsed)
        told = [mark_text(mark) for mark in self._recent() if moment - span <= mark.time <= moment]
        told.reverse()  # notes before commands, the newest first
        more = [f"+{len(told) - TOLD}"] if len(told) > TOLD else []
        ago = f"−{format_seconds(view.time - time)}" if view.time - time >= 0.05 else "now"
        clock = format_clock(moment) if moment >= 0 else "before the start"
        return " · ".join([f"{clock} ({ago})", *told[:TOLD], *more])
