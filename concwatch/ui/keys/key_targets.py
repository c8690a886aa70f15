"""What the keys of each screen act on."""

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from concwatch.ui.base.view import MonitorView

if TYPE_CHECKING:  # a screen imports only the panels that it has
    from concwatch.monitor.lanes.lab import Lab
    from concwatch.ui.keys.host_commands import HostCommands
    from concwatch.ui.keys.lane_commands import LaneCommands
    from concwatch.ui.keys.program_commands import ProgramCommands
    from concwatch.ui.keys.setting_commands import SettingCommands
    from concwatch.ui.panels.charts import ChartPanel
    from concwatch.ui.panels.costs import CostPanel
    from concwatch.ui.panels.groups import GroupPanel
    from concwatch.ui.panels.lanes import LanePanel
    from concwatch.ui.panels.processes import ProcessPanel
    from concwatch.ui.panels.transport import TransportPanel
    from concwatch.ui.sources.chosen_experiment import ChosenExperiment
    from concwatch.ui.sources.experiment_runs import ExperimentRuns
    from concwatch.ui.sources.play_head import PlayHead
    from concwatch.ui.sources.recording_source import RecordingSource


class SymbolActions(Protocol):
    """What chooses the symbols of charts."""

    def choose_next(self) -> None:
        """Draw charts with the next symbols."""
        ...

    def choose(self, choice: str) -> None:
        """Draw charts with ``choice``, one of `CHOICES`, from now on."""
        ...


class PictureActions(Protocol):
    """What saves pictures."""

    def save_screen(self) -> None:
        """Save a picture of the screen."""
        ...

    def save_chart(self) -> None:
        """Save a picture of a chart."""
        ...


class AppActions(Protocol):
    """What every app does."""

    def action_command_palette(self) -> None:
        """Open the palette."""
        ...

    @property
    def symbols(self) -> SymbolActions:
        """The symbols that charts are drawn with."""
        ...

    @property
    def pictures(self) -> PictureActions:
        """The pictures that are saved."""
        ...

    def action_record(self) -> None:
        """Start or stop recording."""
        ...

    async def action_quit(self) -> None:
        """Quit."""
        ...


class MeasurementActions(Protocol):
    """What shows the measurements of a session."""

    def show_experiments(self) -> None:
        """Show the experiments."""
        ...

    def show_race(self) -> None:
        """Show the last race, or start one."""
        ...

    def show_sweep(self) -> None:
        """Show the last sweep, or start one."""
        ...


class ExperimentActions(Protocol):
    """What the screen of experiments does."""

    def scroll_table(self, pages: int) -> None:
        """Scroll the table."""
        ...

    def next_pane(self) -> None:
        """Show the next of table and charts."""
        ...

    def show_details(self) -> None:
        """Show source, machine and method."""
        ...

    def show_help(self) -> None:
        """Show the help."""
        ...

    def leave(self) -> None:
        """Show the monitor again."""
        ...


class HasApp(Protocol):
    """Where keys act on the app."""

    @property
    def app(self) -> AppActions:
        """The app."""
        ...


class HasView(HasApp, Protocol):
    """Where keys act on the screen and its charts."""

    @property
    def screen(self) -> MonitorView:
        """The screen."""
        ...

    @property
    def charts(self) -> "ChartPanel":
        """The charts."""
        ...


class HasLanes(Protocol):
    """Where keys act on lanes and their costs."""

    @property
    def lanes(self) -> "LanePanel":
        """The lanes."""
        ...

    @property
    def costs(self) -> "CostPanel":
        """The cost table."""
        ...


class HasHead(Protocol):
    """Where keys act on a recording."""

    @property
    def head(self) -> "PlayHead":
        """The play head."""
        ...

    @property
    def source(self) -> "RecordingSource":
        """The recording at the play head."""
        ...

    @property
    def transport(self) -> "TransportPanel":
        """The bar of the play head."""
        ...


class HasGroups(Protocol):
    """Where keys act on processes and groups."""

    @property
    def processes(self) -> "ProcessPanel":
        """The processes."""
        ...

    @property
    def groups(self) -> "GroupPanel":
        """The groups."""
        ...


class AppKeys(Struct, frozen=True):
    """What the keys of a dialog act on."""

    app: AppActions


class LabKeys(Struct, frozen=True):
    """What the keys of the monitor of a lab act on."""

    app: AppActions
    screen: MonitorView
    charts: "ChartPanel"
    lanes: "LanePanel"
    costs: "CostPanel"
    lab: "LaneCommands"
    settings: "SettingCommands"
    hosts: "HostCommands"
    measurements: MeasurementActions


class ReplayKeys(Struct, frozen=True):
    """What the keys of a replay act on."""

    app: AppActions
    screen: MonitorView
    charts: "ChartPanel"
    lanes: "LanePanel"
    costs: "CostPanel"
    head: "PlayHead"
    source: "RecordingSource"
    transport: "TransportPanel"


class WatchKeys(Struct, frozen=True):
    """What the keys of a watched program act on."""

    app: AppActions
    screen: MonitorView
    charts: "ChartPanel"
    processes: "ProcessPanel"
    groups: "GroupPanel"
    program: "ProgramCommands"


class WatchReplayKeys(Struct, frozen=True):
    """What the keys of a recording of a watched program act on."""

    app: AppActions
    screen: MonitorView
    charts: "ChartPanel"
    processes: "ProcessPanel"
    groups: "GroupPanel"
    head: "PlayHead"
    source: "RecordingSource"
    transport: "TransportPanel"


class ExperimentKeys(Struct, frozen=True):
    """What the keys of the experiments act on."""

    app: AppActions
    screen: ExperimentActions
    chosen: "ChosenExperiment"
    runs: "ExperimentRuns"
    lab: "Lab"
