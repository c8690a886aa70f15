"""The line at the top: what is running where, and what concwatch itself takes."""

import platform

from textual.content import Content

from concwatch.lab.sampler import cores
from concwatch.lab.view import LabView
from concwatch.ui.widgets.phrase import Phrase
from concwatch.units import format_bytes, format_clock, format_percent

MACHINE = f"{platform.python_implementation()} {platform.python_version()} · {cores()} cores"


class StatusBar(Phrase):
    """Machine and rate on the left; concwatch's own share and the clock on the right."""

    DEFAULT_CSS = """
    StatusBar {
        height: 1;
        background: $panel;
        padding: 0 1;
    }
    """

    def show(self, view: LabView, paused: bool) -> None:
        """Show the lab as it is now; what has no room is left out whole."""
        running = any(lane.on for lane in view.lanes)
        left = Content.assemble(
            ("● ", "$success" if running else "$foreground 40%"),
            ("concwatch", "bold"),
            ("  ‖ charts paused", "bold $warning") if paused else "",
        )
        clock = format_clock(view.elapsed)
        room = self.content_size.width - left.cell_length - len(clock)
        own = (
            f"itself {format_percent(view.own.cpu)} CPU · {format_bytes(view.own.rss)}   " if view.own else ""
        )
        own = own if len(own) < room else ""
        machine = f"  {view.hz:g} Hz · {MACHINE} · {format_bytes(view.memory_total)}"
        machine = machine if len(machine + own) < room else ""
        gap = " " * max(1, room - len(machine + own))
        self.say(Content.assemble(left, (f"{machine}{gap}{own}{clock}", "$foreground 60%")))
