"""What lanes that are traced show of their tasks without tracing, from trials."""

from collections.abc import Callable, Sequence

from concwatch.links.link import Link
from concwatch.monitor.lanes.common_settings import CommonSettings
from concwatch.monitor.lanes.host_lanes import HostLanes
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.lanes.trial import Trials
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.worker import AnatomyAnswer


class TracedLanes:
    """Gives lanes that are traced the cost of an untraced task, and what it consists of.

    Args:
        lanes: the lanes that take these from trials.
        open_link: starts the worker of a trial.
        settings: the common settings of all lanes.
        host_of: returns the host of a lane.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        open_link: Callable[[Engine], Link],
        settings: CommonSettings,
        host_of: Callable[[Lane], HostLanes],
    ) -> None:
        self.trials = Trials(open_link)
        self._lanes, self._settings, self._host_of = lanes, settings, host_of
        self._looking: set[Lane] = set()  # lanes whose tasks a trial looks at

    def look(self, lane: Lane) -> bool:
        """Let a trial find what a task of ``lane`` consists of; return False if its own worker must do so."""
        settings = self._settings.current
        if lane not in self._lanes or not settings.trace or not lane.worker.can("trace"):
            return False
        lane.worker.anatomy = AnatomyAnswer()
        self.trials.look(lane.engine, settings)
        self._looking.add(lane)
        return True

    def step(self, now: float) -> None:
        """Continue the trials, and set what they have found."""
        trials, settings, host_of = self.trials, self._settings.current, self._host_of
        trials.step(
            now,
            settings,
            self._lanes,
            lambda lane: host_of(lane).capacity.left,
            lambda lane: host_of(lane).machine.load,
        )
        for lane in self._lanes:
            lane.worker.stats.untraced = trials.cost(lane.engine, settings)
            lane.worker.stats.trial_due = trials.due(lane, settings)
        for lane in [*self._looking]:
            self._end_look(lane)

    def _end_look(self, lane: Lane) -> None:
        """Set what a trial has found of a lane's tasks, or ask its own worker if there can be no trial."""
        settings = self._settings.current
        if not lane.on:
            self.trials.look(lane.engine, settings, False)
        if self.trials.looking(lane.engine, settings):
            return
        self._looking.discard(lane)
        lane.worker.anatomy = AnatomyAnswer(self.trials.anatomy(lane.engine, settings))
        if lane.worker.anatomy.found is None:
            lane.worker.ask_anatomy()
