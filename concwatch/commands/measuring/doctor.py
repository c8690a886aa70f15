"""``concwatch doctor``: how many tasks a machine can hold, and which limit comes first."""

import shutil
import sys

import click
from msgspec import to_builtins
from msgspec.structs import replace

from concwatch.commands.basics.console import print_error, print_json, print_lines
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.lab import create_lab, measure_costs
from concwatch.commands.basics.options import connect_hosts, examined_cluster, examined_host
from concwatch.commands.basics.progress import ProgressLine
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import SIZE, Described
from concwatch.hosts.host import Host
from concwatch.hosts.survey import survey_all
from concwatch.measure.doctor.capacity import local_machine
from concwatch.measure.doctor.doctor_lines import LEAST_WIDTH, WIDTH, host_rows, proof_rows, rows, verdict
from concwatch.measure.doctor.examination import Examination, examine, examine_host
from concwatch.measure.doctor.proof import ENGINE, Proof
from concwatch.measure.doctor.proof import prove as measure_proof
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import UNTIL_STOPPED, Settings
from concwatch.monitor.workers.catalog import CATALOG, find_engines
from concwatch.portable.machine.limits import system_limits


@click.command("doctor")
@examined_host
@examined_cluster
@click.option(
    "--max-memory",
    type=SIZE,
    cls=Described,
    show_default="80%",
    help='The memory budget to calculate with, such as "2GiB" or "60%" of the available memory.',
)
@click.option("--json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--prove",
    is_flag=True,
    help="Test the forecast: start as many threads as possible, at most 40,000, and end them. For a few "
    "seconds, other programs may hit the same limit.",
)
def command(
    host: tuple[Host | None, ...], cluster: str | None, max_memory: int | None, json: bool, prove: bool
) -> None:
    """Show how many tasks this machine can hold, which limit comes first, and how to raise it.

    What a task costs is measured: a worker of each engine that is installed holds some for a moment, which
    takes about ten seconds in all. What the system does not report is shown as unknown.

    The exit status is 0. It is 1 if --prove starts less than 90 % of the forecast, or if a --host cannot be
    reached.
    """
    if prove and (any(host) or cluster):
        raise click.UsageError("--prove tests this machine and cannot be combined with --host or --cluster")
    others = [one for one in connect_hosts(host, cluster)[0] if one]
    if others:
        exit_with(_examine_others(others, max_memory, json))
    machine, limits = local_machine(max_memory), system_limits()
    found = measure_costs(CATALOG, Settings(UNTIL_STOPPED), machine.budget, limits, build=False)
    # Read again: measuring has assigned pids, and Linux does not reuse the first 300.
    examination = examine(machine, system_limits(), found)
    if not json:
        print_lines(rows(examination, _width()))
    proof = _prove(examination, max_memory) if prove else None
    if json:
        print_json(to_builtins(replace(examination, proof=proof)))
    elif proof is not None:
        print_lines([(), *proof_rows(proof, _width())])
    if proof is not None and not proof.holds:
        print_error(proof.reason or verdict(proof))
        sys.exit(1)


def _width() -> int:
    """Return the columns to print on."""
    columns = shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH
    return min(WIDTH, max(LEAST_WIDTH, columns))


def _examine_others(hosts: list[Host], budget: int | None, json: bool) -> int:
    """Print what other hosts can hold. Return the status for `exit_with`."""
    surveys, stopped = run_until_signal(survey_all(hosts))
    if surveys is None:
        return -stopped
    found = [examine_host(one, budget) for one in surveys]
    if json:
        print_json(to_builtins(found))
    for number, one in enumerate(() if json else found):
        print_lines([*([()] if number else []), *host_rows(one, _width())])
    return int(any(one.problem for one in found))


def _prove(examination: Examination, budget: int | None) -> Proof:
    """Start threads up to the limit. A signal ends the worker, then this process."""
    row = next(row for row in examination.engines if row.engine == ENGINE)
    line = ProgressLine()
    lab = create_lab(find_engines([ENGINE]), settings=Settings("hold"), budget=budget)
    work = measure_proof(lab, Fit(row.tasks, row.limit), lambda text: line.show(lab, ENGINE, text))
    proof, stopped = run_until_signal(work)
    line.clear()
    if proof is None:
        exit_with(-stopped)
    return proof
