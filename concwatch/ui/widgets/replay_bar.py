"""The line at the top of a replay: which recording this is, and the machine that it was taken on."""

from textual.content import Content

from concwatch.ui.widgets.status_bar import StatusBar
from concwatch.units import format_bytes, format_percent


class ReplayBar(StatusBar):
    """File, date and machine of the recording; on the right what concwatch itself took then."""

    def __init__(self, name: str, facts: str, cut: str) -> None:
        """Show a recording.

        Args:
            name: of its file.
            facts: when it was taken, and on what.
            cut: what it lacks, or an empty string.
        """
        super().__init__()
        self._file = name
        self._facts = facts
        self._cut = cut

    def fit(self, width: int) -> Content:
        """Return what ``width`` cells have room for; the rest is left out whole, from the right."""
        if self._shown is None:
            return Content()
        view, _, _ = self._shown
        text = Content.assemble(
            ("● ", "$accent"),
            ("concwatch", "bold"),
            ("  replay", "bold $accent"),
            (f"  {self._cut}", "bold $warning") if self._cut else "",
        )
        cpu, rss = view.machine.cpu, view.machine.rss
        known = cpu is not None and rss is not None
        own = f"monitor {format_percent(cpu or 0.0)} CPU · {format_bytes(rss or 0)}" if known else ""
        parts = [
            (f"  {self._file}", "bold"),
            (f"  {self._facts}", "$dim"),
        ]
        for part, style in parts:
            left = width - text.cell_length
            if len(part) > left:
                part = part[: max(0, left - 1)].rstrip(" ·") + "…" if left > 12 else ""
            text += Content.styled(part, style) if part else Content()
        room = width - text.cell_length - 2
        if own and len(own) <= room:
            text += Content.styled(own.rjust(room + 2), "$dim")
        return text
