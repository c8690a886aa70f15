"""The top bar of a replay."""

from textual.content import Content

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.widgets.bars.status_bar import StatusBar, own_usage


class ReplayBar(StatusBar):
    """File, date and machine of a recording; CPU and memory of concwatch itself on the right."""

    def __init__(self, name: str, facts: str, cut: str) -> None:
        """Create the bar of a recording.

        Args:
            name: the name of its file.
            facts: its date and machine.
            cut: what is missing from it, if anything.
        """
        super().__init__()
        self._parts = ((f"  {name}", "bold"), (f"  {facts}", "$dim"))
        self._cut = (f"  {cut}", "bold $warning") if cut else ""

    def fit(self, width: int, view: Snapshot, paused: bool, notice: str) -> Content:
        """Return the parts that fit into ``width`` cells, from the left."""
        text = Content.assemble(
            ("● ", "$accent"), ("concwatch", "bold"), ("  replay", "bold $accent"), self._cut
        )
        for part, style in self._parts:
            left = width - text.cell_length
            if len(part) > left:
                part = part[: max(0, left - 1)].rstrip(" ·") + "…" if left > 12 else ""
            text += Content.styled(part, style) if part else Content()
        own, room = own_usage(view), width - text.cell_length
        return text + Content.styled(own.rjust(room), "$dim") if own and len(own) + 2 <= room else text
