"""The commands for the settings that all lanes of a lab share."""

from pathlib import Path

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.servers import read_workload
from concwatch.monitor.lanes.user_source import why_not_found
from concwatch.monitor.verdicts.events import NOTE
from concwatch.portable.protocol.units import format_clock, format_count, parse_count
from concwatch.portable.protocol.workloads import FORMS, USER
from concwatch.portable.protocol.workloads import parse as parse_workload
from concwatch.portable.worker.collector import MODES
from concwatch.portable.worker.threads import default_threads
from concwatch.ui.base.view import MonitorView


class SettingCommands:
    """What keys do with the settings of a lab, and with its marks."""

    def __init__(self, lab: Lab, screen: MonitorView) -> None:
        """Create the commands; dialogs are opened on ``screen``."""
        self._lab = lab
        self._screen = screen

    def ask_workload(self) -> None:
        """Ask for the workload."""
        choices = tuple((form.examples[-1], form.example) for form in FORMS.values())

        def parse(text: str) -> str:
            if text.strip() == USER:
                raise ValueError(f'"{USER}" is a placeholder for names of your own, such as "shop:order"')
            spec = read_workload(text)
            if problem := why_not_found(parse_workload(spec), Path.cwd()):
                raise ValueError(problem)
            return spec

        def apply(spec: str) -> None:
            try:
                self._lab.settings.set_workload(spec)
            except ValueError as error:  # a server that tasks connect to could not be started
                self._screen.notify(str(error), severity="error")

        self._screen.ask(
            apply,
            "what each task does",
            self._lab.settings.current.workload,
            parse,
            lambda spec: f"{spec}: enter applies it; running tasks are replaced",
            (*choices, (USER, "calls your own function, from the working directory")),
        )

    def toggle_refill(self) -> None:
        """Switch refill on or off."""
        self._lab.settings.set_refill(not self._lab.settings.current.refill)

    def toggle_trace(self) -> None:
        """Switch tracing on or off."""
        self._lab.settings.set_trace(not self._lab.settings.current.trace)

    def next_collector(self) -> None:
        """Select the next mode of the garbage collector."""
        modes = list(MODES)
        self._lab.settings.set_gc(modes[(modes.index(self._lab.settings.current.gc) + 1) % len(modes)])

    def ask_threads(self) -> None:
        """Ask for the number of threads in a pool."""

        def parse(text: str) -> int:
            count = parse_count(text, 100_000)
            if not count:
                raise ValueError("a pool of 0 threads runs nothing; it may have 1 to 100,000")
            return count

        self._screen.ask(
            self._lab.settings.set_threads,
            "number of threads in the pool",
            str(self._lab.settings.current.threads or default_threads()),
            parse,
            lambda count: f"the pool runs {format_count(count)} threads",
        )

    def ask_note(self) -> None:
        """Ask for a note and mark the current moment with it."""
        moment = self._lab.clock()

        def parse(text: str) -> str:
            if not text.strip():
                raise ValueError("a mark needs a text, such as a few words")
            return " ".join(text.split())

        def apply(text: str) -> None:
            self._lab.add_note(text, moment)
            self._screen.update_now()

        self._screen.ask(
            apply,
            "a note for this moment",
            f"mark {sum(mark.kind == NOTE for mark in self._lab.marks.since(0)) + 1}",
            parse,
            lambda text: f"enter marks {format_clock(moment - self._lab.began)} on the charts",
        )
