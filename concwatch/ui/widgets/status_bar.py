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
        self.follow()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the one line."""
        return (self.fit(width),)

    def fit(self, width: int) -> Content:
        """Return what ``width`` cells have room for; the rest is left out whole."""
        if self._shown is None:
            return Content()
        view, paused, aside = self._shown
        running = any(lane.on for lane in view.lanes)
        left = Content.assemble(
            ("● ", "$success" if running else "$dim"),
            ("concwatch", "bold"),
            ("  ‖ charts paused", "bold $warning") if paused else "",
            (f"  {aside}", "bold $accent") if aside else "",
        )
        clock = format_clock(view.elapsed)
        room = width - left.cell_length - len(clock)
        machine = view.machine
        own = (
            f"monitor {format_percent(machine.cpu)} CPU · {format_bytes(machine.rss)}   "
            if machine.cpu is not None and machine.rss is not None
            else ""
        )
        own = own if len(own) < room else ""
        where = f"  {view.hz:g} Hz · {_machine(view)} · {format_bytes(machine.total)}"
        busy = "" if machine.busy is None else f" · {format_percent(machine.busy)} busy"
        where = next((text for text in (where + busy, where) if len(text + own) < room), "")
        gap = " " * max(1, room - len(where + own))
        return Content.assemble(left, (f"{where}{gap}{own}{clock}", "$dim"))


def _machine(view: Snapshot) -> str:
    """Return where the lanes run: on this machine, unless all of them run on one other host."""
    names = {lane.engine.host for lane in view.lanes}
    host = next((host for host in view.hosts if names == {host.name}), None)
    return f"{host.name} · {host.python} · {host.cores} cores" if host and view.machine.total else MACHINE
