"""The commands for the lanes of a lab."""

from collections.abc import Mapping

from concwatch.monitor.lanes.forecast import Forecast
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.metrics import LaneSnapshot, uncertain_figures
from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.portable.protocol.units import parse_count
from concwatch.ui.base.view import MonitorView
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.sources.lane_row import split
from concwatch.ui.sources.source import LabSource
from concwatch.ui.widgets.lanes.lane_card import forecast as target_text


class LaneCommands:
    """What keys and cards do with live lanes.

    ``lane`` is the index of a row on the screen; by default the selected one.
    """

    def __init__(self, lab: Lab, source: LabSource, screen: MonitorView, lanes: LanePanel) -> None:
        """Create the commands.

        Args:
            lab: the lab.
            source: its lanes as the rows of the screen.
            screen: where dialogs are opened.
            lanes: the panel in which a row is selected.
        """
        self._lab = lab
        self._source = source
        self._screen = screen
        self._lanes = lanes
        self._asking = False

    def _number(self, lane: int | None) -> int:
        return self._lanes.selected if lane is None else lane

    def _row(self, lane: int | None = None) -> LaneSnapshot:
        return self._source.snapshot().lanes[self._number(lane)]

    def toggle_lane(self, lane: int | None = None) -> None:
        """Switch a lane on or off."""
        lanes = self._source.lanes(self._number(lane))
        broken = [each for each, now in lanes.items() if now.status.state.broken]
        running = any(now.on for now in lanes.values())
        for each in broken if running and broken else lanes:
            self._lab.switch(each, not running or bool(broken))

    def set_target(self, tasks: int, lane: int | None = None) -> None:
        """Set the target of a lane; if it will not fit, ask the user first."""
        lanes, tasks = self._source.lanes(self._number(lane)), min(tasks, LARGEST_TARGET)
        shares = split(tasks, [*lanes.values()], self._source.even)
        for (each, now), share in zip(lanes.items(), shares, strict=True):
            # With several hosts, or one that has not answered yet, admission control there limits the growth.
            can_ask = len(shares) == 1 and now.status.fits_limit
            grows = share > now.status.target and not now.status.missing
            forecast = self._lab.host_of(each).capacity.forecast(each, share) if grows and can_ask else None
            if forecast is None or forecast.fits:
                self._lab.set_target(each, share)
            elif not self._asking:
                self._ask_whether_to_start(each, forecast, now.status.target)

    def change_target(self, by: int, lane: int | None = None) -> None:
        """Change the target of a lane by a number of tasks."""
        self.set_target(max(0, self._row(lane).status.target + by), lane)

    def _ask_whether_to_start(self, lane: Lane, forecast: Forecast, current: int) -> None:
        """Ask whether to set a target that will not fit; the current target stays until then."""
        from concwatch.ui.dialogs.fit_dialog import FitDialog  # not needed for the first frame

        def on_result(tasks: int | None) -> None:
            self._asking = False
            if tasks is not None:
                self._lab.set_target(lane, tasks)
                self._screen.show_snapshot()

        self._asking = True  # more keys may arrive before the dialog is shown
        self._screen.app.push_screen(FitDialog(lane.engine.name, forecast, current), on_result)

    def ask_target(self, lane: int | None = None) -> None:
        """Ask for the target of a lane."""
        index = self._number(lane)
        row = self._row(lane)

        self._screen.ask(
            lambda tasks: self.set_target(tasks, index),
            f"number of tasks: {row.name}",
            str(row.status.target),
            lambda text: parse_count(text, LARGEST_TARGET),
            lambda tasks: target_text(self._screen.snapshot.lanes[index], tasks, why=True),
        )

    def repeat_target(self) -> None:
        """Set the selected lane's last target again, which without refill starts its tasks again."""
        row = self._row()
        if self._lab.settings.current.refill:
            self._screen.notify("tasks that end are already replaced; f turns refill off", severity="warning")
        elif row.status.asked:
            self.set_target(row.status.asked)

    def trim(self) -> None:
        """Collect garbage in the selected lane and return memory to the system."""
        for lane in self._source.lanes(self._lanes.selected):
            self._lab.trim(lane)

    def explain(self) -> None:
        """Show how the selected lane is measured."""
        from textual.content import Content

        from concwatch.monitor.workers.engine_notes import engine_notes
        from concwatch.ui.dialogs.help import ReadDialog  # not needed for the first frame

        lane, now = next(iter(self._source.lanes(self._lanes.selected).items()))
        runtime = " · ".join((now.status.runtime or "not running", *now.status.flags))
        text = Content.assemble((lane.engine.task, "bold"), "\n", (runtime, "$accent"))
        marked = [
            (
                f"{caveat.mark} {caveat.brief}",
                f"{', '.join(metric.title for metric in metrics)}: {caveat.note}"
                + (f" ({caveat.advice})" if caveat.advice else ""),
            )
            for caveat, metrics in uncertain_figures(now)
        ]
        self._screen.app.push_screen(
            ReadDialog(
                f"{lane.engine.name}: how it is measured",
                text,
                [*marked, ("notes", engine_notes(lane.engine))],
            )
        )

    def show_anatomy(self) -> None:
        """Show what a task of the selected lane consists of."""
        from concwatch.ui.dialogs.anatomy import AnatomyScreen  # not needed for the first frame

        lane = next(iter(self._source.lanes(self._lanes.selected)))
        before = self._lab.snapshot().lanes[lane.number]
        if not before.live:
            self._screen.notify("no task is live: start some to see what one consists of", severity="warning")
            return
        self._lab.ask_anatomy(lane)
        self._screen.app.push_screen(AnatomyScreen(before, lambda: self._lab.snapshot().lanes[lane.number]))

    def stop_all(self) -> None:
        """Switch every lane off."""
        self._lab.stop_all()

    def set_targets(self, targets: Mapping[str, int]) -> None:
        """Set targets by the names of engines."""
        for index, row in enumerate(self._source.rows):
            if row.own_name in targets:
                self.set_target(targets[row.own_name], index)
