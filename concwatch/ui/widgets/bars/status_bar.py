"""The line at the top: the machine, the clock, and the CPU and memory of concwatch itself."""

import platform
from collections.abc import Sequence

from textual.content import Content

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_bytes, format_clock
from concwatch.system.machine import cores
from concwatch.ui.widgets.text.text_lines import TextLines, assemble

MACHINE = f"{platform.python_implementation()} {platform.python_version()} · {cores()} cores"


class StatusBar(TextLines):
    """Machine and tick rate on the left; CPU and memory of concwatch, and the clock, on the right."""

    DEFAULT_CSS = """
    StatusBar {
        height: 1;
        background: $panel;
        padding: 0 1;
    }
    """

    _shown: tuple[Snapshot, bool, str] | None = None

    def show(self, view: Snapshot, paused: bool, notice: str = "") -> None:
        """Show a snapshot, whether the charts are paused, and a short notice."""
        self._shown = (view, paused, notice)
        self.update_lines()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the line."""
        return (self.fit(width, *self._shown),) if self._shown else (Content(),)

    def fit(self, width: int, view: Snapshot, paused: bool, notice: str) -> Content:
        """Return the parts that fit into ``width`` cells."""
        left = assemble(
            ("● ", "$success" if any(lane.on for lane in view.lanes) else "$dim"),
            ("concwatch", "bold"),
            ("  ‖ charts paused", "bold $warning") if paused else "",
            (f"  {notice}", "bold $accent") if notice else "",
        )
        clock, machine = format_clock(view.elapsed), view.machine
        room = width - left.cell_length - len(clock)
        own = f"{text}   " if (text := own_usage(view)) else ""
        own = own if len(own) < room else ""
        where = f"  {view.hz:g} Hz · {_machine(view)} · {format_bytes(machine.total)}"
        busy = "" if machine.busy is None else f" · {100 * machine.busy:.0f} % busy"
        where = next((text for text in (where + busy, where) if len(text + own) < room), "")
        gap = " " * max(1, room - len(where + own))
        return left + assemble((f"{where}{gap}{own}{clock}", "$dim"))


def own_usage(view: Snapshot) -> str:
    """Return the CPU and memory of concwatch itself, or an empty string if they are not known."""
    machine = view.machine
    if machine.cpu is None or machine.rss is None:
        return ""
    return f"monitor {100 * machine.cpu:.0f} % CPU · {format_bytes(machine.rss)}"


def _machine(view: Snapshot) -> str:
    """Return the machine: this one, or the other host if all lanes run on it."""
    names = {lane.engine.host for lane in view.lanes}
    host = next((host for host in view.hosts if names == {host.name}), None)
    return f"{host.name} · {host.python} · {host.cores} cores" if host and view.machine.total else MACHINE
