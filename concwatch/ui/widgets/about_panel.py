"""What an experiment is about, where its published figures come from, and how it measures."""

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.report import cite
from concwatch.text import flat

OURS = "none: nothing is published that this could be held against"
LABEL_WIDTH = 9


def facts(experiment: Experiment) -> dict[str, str]:
    """Return where the published figures come from, of what machine they are, and how it is measured here."""
    source = experiment.source
    return {
        "source": OURS if source is None else cite(source),
        "there": "" if source is None else flat(f"{source.machine}; {source.version}"),
        "method": flat(experiment.method),
    }


def describe(experiment: Experiment) -> Content:
    """Return everything about an experiment but its figures."""
    rows = [(label, text) for label, text in facts(experiment).items() if text]
    return Content("\n\n").join(
        [Content(flat(experiment.about))]
        + [Content.assemble((f"{label:{LABEL_WIDTH}}", "$accent"), text) for label, text in rows]
    )


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
        & Container {
            layout: grid;
            grid-size: 2;
            grid-columns: 9 1fr;
            grid-rows: auto;
            height: auto;
        }
        & .label { color: $accent; }
        & .fact { color: $dim; }
    }
    """

    _shown: Experiment | None = None

    def compose(self) -> ComposeResult:
        """A description, and one row a fact."""
        yield Static(id="about")
        with Container():
            for label in ("source", "there", "method"):
                yield Static(label, id=f"label-{label}", classes="label")
                yield Static(id=label, classes="fact")

    def show(self, experiment: Experiment) -> None:
        """Show ``experiment``, from its beginning."""
        if self._shown is experiment:
            return
        self._shown = experiment
        self.border_title = Content(experiment.title)
        self.border_subtitle = "d all of it"
        self.query_one("#about", Static).update(Content(flat(experiment.about)))
        for label, text in facts(experiment).items():
            for selector in (f"#label-{label}", f"#{label}"):
                self.query_one(selector, Static).display = bool(text)
            self.query_one(f"#{label}", Static).update(Content(text))
        self.scroll_home(animate=False)
