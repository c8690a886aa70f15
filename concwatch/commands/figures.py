"""``concwatch figures``: list every metric, what it means and what makes it uncertain."""

import textwrap

import click

from concwatch.commands.console import print_json
from concwatch.monitor.metrics import COARSE, LISTED, Metric

WIDTH = 100
"""Cells of a line."""


@click.command("figures")
@click.option("--json", is_flag=True, help="Print one JSON list.")
def command(json: bool) -> None:
    """List every metric: its name, its unit, what it means, and what makes it uncertain.

    run --json, --expect, experiments, compare and export use these names. Needs no terminal.
    """
    if json:
        print_json(
            [
                {
                    "name": metric.name,
                    "title": metric.title,
                    "unit": metric.unit.name,
                    "meaning": metric.meaning,
                    "uncertain": _uncertain(metric),
                    "worse": {1: "more", -1: "less"}.get(metric.worse),
                }
                for metric in LISTED
            ]
        )
        return
    width = max(len(metric.name) for metric in LISTED)
    for metric in LISTED:
        click.echo(f"{click.style(f'{metric.name:{width}}', bold=True)}  {metric.title} ({metric.unit.name})")
        for line in (metric.meaning, *_uncertain(metric)):
            click.echo(textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="    "))


def _uncertain(metric: Metric) -> list[str]:
    """Return one line for each thing that makes a metric uncertain."""
    found = [f"{caveat.mark} {caveat.note}" for caveat in metric.caveats]
    if metric.resolution is not None:
        found.append(
            "± the unit in which the runtime takes memory from the system, divided by the live tasks; shown "
            f"if that is more than {COARSE * 100:g} % of the value"
        )
    return found
