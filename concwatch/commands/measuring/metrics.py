"""``concwatch metrics``: list every metric, what it means and what makes it uncertain."""

import textwrap
from collections.abc import Mapping, Sequence

import click

from concwatch.commands.basics.console import print_json
from concwatch.measure.sweep.step_metrics import STEP_METRICS
from concwatch.monitor.metrics.group_status import GROUP_METRICS
from concwatch.monitor.metrics.metric import COARSE, Metric
from concwatch.monitor.metrics.metrics import CAVEATS, LISTED, explained, mark_notes
from concwatch.monitor.metrics.process_status import PROCESS_METRICS

WIDTH = 100
"""Cells of a line."""

RESOLUTION = (
    "resolution",
    "the unit in which the runtime allocates memory from the system, divided by the live tasks; "
    f"shown if that is more than {COARSE * 100:g} % of the value",
)
"""What ± stands for, in a word and in a sentence."""

TABLES: Mapping[str, Sequence[Metric]] = {
    "lanes": LISTED,
    "steps of a sweep": STEP_METRICS,
    "watched processes": PROCESS_METRICS,
    "groups of tasks in watched processes": GROUP_METRICS,
}


@click.command("metrics")
@click.option("--json", is_flag=True, help="Print one JSON list.")
def command(json: bool) -> None:
    """List every metric: its name, its unit, what it means, and what makes it uncertain.

    run --json, --expect, experiments, compare and export use these names; those of watched programs are for
    watch --json and its --expect.
    """
    if json:
        print_json(
            [
                {
                    "of": of,
                    "name": metric.name,
                    "title": metric.title,
                    "unit": metric.unit.name,
                    "meaning": metric.meaning,
                    "uncertain": _uncertain(metric),
                    "worse": {1: "more", -1: "less"}.get(metric.worse),
                }
                for of, metrics in TABLES.items()
                for metric in metrics
            ]
        )
        return
    width = max(len(metric.name) for metrics in TABLES.values() for metric in metrics)
    for of, metrics in TABLES.items():
        if metrics is not LISTED:
            click.echo(f"\n  Of {of}:\n")
        for metric in metrics:
            name = click.style(f"{metric.name:{width}}", bold=True)
            click.echo(f"{name}  {metric.title} ({metric.unit.name})")
            resolution = [f"± {RESOLUTION[0]}"] if metric.resolution is not None else []
            uncertain = " · ".join((*mark_notes(metric.caveats), *resolution))
            for line in filter(None, (metric.meaning, uncertain)):
                click.echo(textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="    "))
    click.echo("\n  What makes metrics uncertain:\n")
    terms = [(f"{caveat.mark} {caveat.brief}", caveat.note) for caveat in CAVEATS]
    for brief, note in (*terms, (f"± {RESOLUTION[0]}", RESOLUTION[1])):
        click.echo(textwrap.fill(f"{brief}: {note}", WIDTH, initial_indent="    ", subsequent_indent="    "))


def _uncertain(metric: Metric) -> list[str]:
    """Return one line for each thing that makes a metric uncertain."""
    found = [f"{caveat.mark} {caveat.explanation}" for caveat in explained(metric.caveats)]
    return found if metric.resolution is None else [*found, f"± {RESOLUTION[1]}"]
