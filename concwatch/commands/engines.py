"""``concwatch engines``: what can run here."""

import click

from concwatch.commands.telling import say_json
from concwatch.lab.catalog import CATALOG
from concwatch.lab.probe import why_not


@click.command("engines")
@click.option("--json", "as_json_", is_flag=True, help="One JSON list on standard output.")
def command(as_json_: bool) -> None:
    """List every engine: what a task is there, whether it can run here, and if not what to install.

    Needs nothing. What an engine needs is tried: a worker is started, and ends as soon as it stands.
    """
    rows = [
        {"engine": engine.name, "task": engine.task, "runs": reason is None, "missing": reason}
        for engine, reason in zip(CATALOG, why_not(CATALOG), strict=True)
    ]
    if as_json_:
        say_json(rows)
        return
    width = max(len(engine.name) for engine in CATALOG)
    for row in rows:
        state = (
            click.style("runs", fg="green")
            if row["runs"]
            else click.style(f"cannot: {row['missing']}", fg="red")
        )
        click.echo(f"{row['engine']:{width}}  {row['task']:42}  {state}")
