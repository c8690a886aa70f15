"""``concwatch figures``: list every figure, what it means and what makes it uncertain."""

import textwrap

import click

from concwatch.console import print_json
from concwatch.lab.metrics import COARSE, LISTED, Metric

WIDTH = 100
"""Cells of a line."""


@click.command("figures")
@click.option("--json", is_flag=True, help="Print one JSON list.")
def command(json: bool) -> None:
    """List every figure: its name, its unit, what it means, and what makes it uncertain.

    run --json, --expect, experiments, compare and export use these names. Needs no terminal.
    """
    if json:
        print_json(
            [
                {
                    "name": figure.name,
                    "title": figure.title,
                    "unit": figure.unit.name,
                    "meaning": figure.meaning,
                    "uncertain": _uncertain(figure),
                    "worse": {1: "more", -1: "less"}.get(figure.worse),
                }
                for figure in LISTED
            ]
        )
        return
    width = max(len(figure.name) for figure in LISTED)
    for figure in LISTED:
        click.echo(f"{click.style(f'{figure.name:{width}}', bold=True)}  {figure.title} ({figure.unit.name})")
        for line in (figure.meaning, *_uncertain(figure)):
            click.echo(textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="    "))


def _uncertain(figure: Metric) -> list[str]:
    """Return one line for each thing that makes a figure uncertain."""
    found = [f"{caveat.mark} {caveat.note}" for caveat in figure.caveats]
    if figure.name == "rss_per_task":
        found.append(
            "± the unit in which the runtime takes memory from the system, divided by the live tasks; shown "
            f"if that is more than {COARSE * 100:g} % of the figure"
        )
    return found
