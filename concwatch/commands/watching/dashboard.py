"""``concwatch dashboard``: print a Grafana dashboard, or alert rules for Prometheus."""

import click

from concwatch.commands.basics.console import print_json


@click.command("dashboard")
@click.option("--alerts", is_flag=True, help="Print alert rules for Prometheus instead, as YAML.")
def command(alerts: bool) -> None:
    """Print a Grafana dashboard over the metrics of watch --metrics, as JSON to import.

    It works with the metrics of --otlp too, if they end up in a Prometheus. The alerts: a blocked event loop,
    a leak, a growing queue, leftover tasks, a throttled process, memory near its limit.
    """
    if alerts:
        from concwatch.exporters.alerts import rules  # imported late, as each is seldom wanted

        click.echo(rules(), nl=False)
        return
    from concwatch.exporters.dashboard import dashboard

    print_json(dashboard())
