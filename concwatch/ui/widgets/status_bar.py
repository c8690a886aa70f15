"""The line at the top: what is running where, and what concwatch itself takes."""

import platform
from collections.abc import Sequence

from textual.content import Content

from concwatch.lab.snapshot import Snapshot
from concwatch.system.machine import cores
from concwatch.ui.widgets.text_lines import TextLines
from concwatch.units import format_bytes, format_clock, format_percent

MACHINE = f"{platform.python_implementation()} {platform.python_version()} · {cores()} cores"


class StatusBar(TextLines):
    """Machine and rate on the left; concwatch's own share and the clock on the right."""

    DEFAULT_CSS = """
    StatusBar {
        height: 1;
        background: $panel;
        padding: 0 1;
    }
    """

    _shown: tuple[Snapshot, bool, str] | None = None

    def show(self, view: Snapshot, paused: bool, aside: str = "") -> None:
        """Show the lab as it is now, whether the charts are paused, and what else there is to say."""
        self._shown = (view, paused, aside)
        self.update_lines()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the one line: what ``width`` cells have room for; the rest is left out whole."""
        return (self.fit(width, *self._shown),) if self._shown else (Content(),)

    def fit(self, width: int, view: Snapshot, paused: bool, aside: str) -> Content:
        """Return what ``width`` cells have room for."""
        left = Content.assemble(
            ("● ", "$success" if any(lane.on for lane in view.lanes) else "$dim"),
            ("concwatch", "bold"),
            ("  ‖ charts paused", "bold $warning") if paused else "",
            (f"  {aside}", "bold $accent") if aside else "",
        )
        clock, machine = format_clock(view.elapsed), view.machine
        room = width - left.cell_length - len(clock)
        own = f"{text}   " if (text := own_share(view)) else ""
        own = own if len(own) < room else ""
        where = f"  {view.hz:g} Hz · {_machine(view)} · {format_bytes(machine.total)}"
        busy = "" if machine.busy is None else f" · {format_percent(machine.busy)} busy"
        where = next((text for text in (where + busy, where) if len(text + own) < room), "")
        gap = " " * max(1, room - len(where + own))
        return Content.assemble(left, (f"{where}{gap}{own}{clock}", "$dim"))


class ReplayBar(StatusBar):
    """File, date and machine of a recording; on the right what concwatch itself took then."""

    def __init__(self, name: str, facts: str, cut: str) -> None:
        """Show a recording: the name of its file, when and on what it was taken, and what it lacks."""
        super().__init__()
        self._parts = ((f"  {name}", "bold"), (f"  {facts}", "$dim"))
        self._cut = (f"  {cut}", "bold $warning") if cut else ""

    def fit(self, width: int, view: Snapshot, paused: bool, aside: str) -> Content:
        """Return what ``width`` cells have room for; the rest is left out whole, from the right."""
        text = Content.assemble(
            ("● ", "$accent"), ("concwatch", "bold"), ("  replay", "bold $accent"), self._cut
        )
        for part, style in self._parts:
            left = width - text.cell_length
            if len(part) > left:
                part = part[: max(0, left - 1)].rstrip(" ·") + "…" if left > 12 else ""
            text += Content.styled(part, style) if part else Content()
        own, room = own_share(view), width - text.cell_length
        return text + Content.styled(own.rjust(room), "$dim") if own and len(own) + 2 <= room else text


def own_share(view: Snapshot) -> str:
    """Return what concwatch itself takes, where that is known."""
    machine = view.machine
    if machine.cpu is None or machine.rss is None:
        return ""
    return f"monitor {format_percent(machine.cpu)} CPU · {format_bytes(machine.rss)}"


def _machine(view: Snapshot) -> str:
    """Return where the lanes run: on this machine, unless all of them run on one other host."""
    names = {lane.engine.host for lane in view.lanes}
    host = next((host for host in view.hosts if names == {host.name}), None)
    return f"{host.name} · {host.python} · {host.cores} cores" if host and view.machine.total else MACHINE
