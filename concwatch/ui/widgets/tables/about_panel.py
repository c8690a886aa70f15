"""The description of an experiment, its source, and its method."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.measure.experiments.experiment import Experiment
from concwatch.measure.experiments.experiment_report import cite
from concwatch.portable.protocol.text import flat
from concwatch.ui.widgets.text.glossary import Glossary

NO_SOURCE = "none: no published figures to compare with"
LABEL_WIDTH = 9


def facts(experiment: Experiment) -> list[tuple[str, str]]:
    """Return labels and texts: the source of the published figures, their machine, and the method here."""
    source = experiment.source
    found = [
        ("source", NO_SOURCE if source is None else cite(source)),
        ("machine", "" if source is None else flat(f"{source.machine}; {source.version}")),
        ("method", flat(experiment.method)),
    ]
    return [(label, text) for label, text in found if text]


def describe(experiment: Experiment) -> Content:
    """Return the description and the facts of an experiment."""
    rows = [
        Content.assemble((f"{label:{LABEL_WIDTH}}", "$accent"), text) for label, text in facts(experiment)
    ]
    return Content("\n\n").join([Content(flat(experiment.about)), *rows])


class AboutPanel(VerticalScroll, can_focus=False):
    """Shows an experiment's description and `facts`."""

    DEFAULT_CSS = """
    AboutPanel {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $dim;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-color: $foreground 20%;
        scrollbar-background: $background;
        & Static { height: auto; }
        & Glossary { color: $dim; }
    }
    """

    _shown: Experiment | None = None

    def compose(self) -> ComposeResult:
        """Create the description and the facts."""
        yield Static(id="about")
        yield Glossary((), "$accent", LABEL_WIDTH)

    def show(self, experiment: Experiment) -> None:
        """Show ``experiment``, scrolled to the top."""
        if self._shown is experiment:
            return
        self._shown = experiment
        self.border_title = Content(experiment.title)
        self.border_subtitle = "d read all"
        self.query_one("#about", Static).update(Content(flat(experiment.about)))
        self.query_one(Glossary).set_terms(facts(experiment))
        self.scroll_home(animate=False)
