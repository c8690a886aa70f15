"""Following a program without a screen: its report, expectations, metrics, and events for other programs."""

import asyncio
import math
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from concwatch.commands.basics.console import print_error, print_json
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import ADDRESS, BLOCKED, SECONDS, Parsed
from concwatch.commands.watching.passing import HeldSignals, signals_passed_on
from concwatch.commands.watching.watch_session import terminate
from concwatch.exporters.event_command import EventCommand
from concwatch.exporters.event_lines import EventFile
from concwatch.exporters.exporter import Exporter
from concwatch.links.program import Program, StartedProgram
from concwatch.measure.expect import COMPARISONS
from concwatch.measure.watch_report import METRICS, WatchExpectation, parse_watch_expectation, watch_report
from concwatch.monitor.watching.agent_options import AgentOptions
from concwatch.monitor.watching.watching import HZ, Watching
from concwatch.portable.agent.blocking.blocks import BLOCKED_AFTER
from concwatch.system.files import why_not_writable, write_atomically

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recorder

Created = TypeVar("Created")

ENDING = (signal.SIGTERM, signal.SIGKILL)
"""The signals that a program gets when time is up."""

WAITS_BEFORE_END = 0.5
"""Seconds before the end of ``--seconds`` at which agents are asked where the tasks wait, and, for a report,
what RSS is made of."""

SAVE_INTERVAL = 10.0
"""Seconds between two reports that are written while the program runs."""

WAITS_GROUPS = 10
"""The number of groups of each process for which agents are asked where the tasks wait."""

EXPECTATIONS = (
    "\b\nExpectations:\n"
    f"  [GROUP.]METRIC OP VALUE, where OP is one of {' '.join(COMPARISONS)}, GROUP is the name of a\n"
    "  coroutine function, and METRIC is one of:\n"
    f"{textwrap.fill(', '.join(METRICS), 100, initial_indent='    ', subsequent_indent='    ')}\n"
    "  events.KIND OP VALUE, such as events.leak <= 0: how many events of a kind there were"
)

ADVICE = "add --log - or --json FILE"
"""What to do where no screen can be shown."""

AGENTS: Mapping[str, Mapping[str, Any]] = {
    "--outcomes": {"is_flag": True, "help": "Count tasks by outcome. Costs 0.3 to 1.7 µs per task."},
    "--timing": {
        "is_flag": True,
        "help": "Time tasks, and how long they keep their event loop busy (p50, p99, busy). A service at "
        "full load serves up to 10 % fewer requests.",
    },
    "--group-by": {
        "type": click.Choice(["function", "name"]),
        "metavar": "function|name",
        "default": "function",
        "show_default": True,
        "help": "Group tasks by coroutine function, or by the names that the program gives them, with "
        "numbers replaced: worker-N.",
    },
    "--trace": {"is_flag": True, "help": "Trace allocations (tracemalloc)."},
    "--blocked-after": {
        "type": BLOCKED,
        "default": str(BLOCKED_AFTER),
        "show_default": True,
        "metavar": "S|off",
        "help": "Report what blocks an event loop for longer than S seconds.",
    },
}
"""The options that say what agents do; `agent_options` reads them."""


def agent_options(values: dict[str, Any]) -> AgentOptions:
    """Return what agents are asked to do, removing the values of `AGENTS` from those of a command."""
    names = [name.removeprefix("--").replace("-", "_") for name in AGENTS]
    found = {name: values.pop(name) for name in names}
    return AgentOptions(by_name=found.pop("group_by") == "name", **found)


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--json": {
        "metavar": "FILE|-",
        "help": "Write a report as one JSON object to FILE, or with - to standard output.",
    },
    "--metrics": {
        "type": ADDRESS,
        "metavar": "[HOST:]PORT",
        "help": "Serve OpenMetrics for Prometheus at /metrics; on 127.0.0.1 unless a HOST is given.",
    },
    "--otlp": {
        "metavar": "ENDPOINT",
        "help": "Push the same metrics to an OpenTelemetry collector, every 60 s, by OTLP over HTTP, such as "
        "to http://127.0.0.1:4318. OpenTelemetry's environment variables apply (OTEL_SERVICE_NAME, "
        "OTEL_METRIC_EXPORT_INTERVAL, OTEL_EXPORTER_OTLP_HEADERS).",
    },
    "--log": {
        "metavar": "FILE|-",
        "help": "Append each event to FILE as a JSON line when it happens, or with - print it.",
    },
    "--sample-log": {
        "type": SECONDS,
        "metavar": "S",
        "help": "With --log: add a line with the figures of each process every S seconds.",
    },
    "--on-event": {
        "metavar": "COMMAND",
        "help": "Run a shell command for each event, with the event as a line of JSON on its standard input.",
    },
    "--seconds": {
        "type": SECONDS,
        "metavar": "S",
        "help": "After S seconds stop the command, or leave the attached processes; the status is 0 if all "
        "expectations hold.",
    },
    "--expect": {
        "type": Parsed("expectation", parse_watch_expectation),
        "multiple": True,
        "metavar": "EXPECTATION",
        "help": 'Exit with status 1 unless this holds, such as "left_over <= 0". Can be repeated.',
    },
}
"""The options for running without a screen; the last two need one of the others."""


class Unattended(Struct, frozen=True):
    """The values of `OPTIONS`."""

    json: str | None
    metrics: tuple[str, int] | None
    otlp: str | None
    log: str | None
    sample_log: float | None
    on_event: str | None
    seconds: float | None
    expect: Sequence[WatchExpectation]

    @property
    def asked(self) -> bool:
        """Whether no screen is shown."""
        asking = (self.json, self.metrics, self.otlp, self.log, self.on_event)
        return any(value is not None for value in asking)

    @property
    def output(self) -> int | None:
        """The descriptor for the program's output: standard error if concwatch prints on standard output."""
        return sys.stderr.fileno() if "-" in (self.json, self.log) else None

    def check(self) -> None:
        """Check the values that depend on each other.

        Raises:
            click.UsageError: one line: an option has no effect, or a file cannot be written.
        """
        context = click.get_current_context()
        for name in ("seconds", "expect"):
            if not self.asked and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} has no effect on the screen without --json FILE")
        if self.sample_log is not None and self.log is None:
            raise click.UsageError("--sample-log has no effect without --log FILE")
        if self.json == self.log == "-":
            raise click.UsageError("--json - and --log - print to the same place; give one of them a FILE")
        problem = why_not_writable(Path(self.json)) if self.json not in (None, "-") else None
        if problem:
            raise click.UsageError(f'--json: file "{self.json}" cannot be written ({problem})')

    def follow(
        self,
        watching: Watching,
        program: StartedProgram | None,
        recorder: "Recorder | None",
        exporters: Sequence[Exporter],
        held: HeldSignals | None = None,
    ) -> int:
        """Follow a program until it ends, and write the report. Return the status for `exit_with`.

        It is 1 if an expectation fails. Otherwise it is that of the program; but 0 if time was up while the
        program ran, whatever status it then exits with.

        Args:
            watching: the program.
            program: the started program; None to follow the processes attached to until they have ended.
            recorder: records it, if given.
            exporters: the context of `exporters`.
            held: the signals that are passed on to a program on this host.

        Raises:
            ValueError: the host cannot be reached; the message is one line.
        """
        if recorder is not None:
            recorder.observe(watching)
        command = program.command if program else ()

        def report() -> dict[str, Any]:
            status = program.exit_status if program and program.status is not None else None
            return watch_report(watching.snapshot(), command, status)

        def save() -> None:
            """Write the report so far, so that little is lost if concwatch is killed."""
            if self.json not in (None, "-"):
                _write(self.json, report())

        time_is_up, stopped = False, 0
        for exporter in exporters:
            exporter.observe(watching)
        if isinstance(program, Program):
            with signals_passed_on(program.send_signal, held):
                time_is_up = asyncio.run(self._step(watching, program, save))
                terminate(watching, program)
        else:
            ended, stopped = run_until_signal(self._step(watching, program, save))
            time_is_up = bool(ended)
        if watching.host.problem and not watching.lanes:
            raise ValueError(watching.host.problem)
        if recorder is not None:
            recorder.stop("done")
            if recorder.problem:
                print_error(recorder.problem)
        failed = int(not self._conclude(report()))
        if failed or program is None:  # a signal is how following running processes usually ends
            return failed
        status = program.status or 0
        # Another signal is not how it was ended, but Ctrl-C, or a crash while it cleaned up.
        if time_is_up and not watching.host.problem and (status >= 0 or -status in ENDING):
            return 0
        return -stopped or status

    def _conclude(self, report: dict[str, Any]) -> bool:
        """Write the report with the verdicts on the expectations; return whether all hold."""
        verdicts = [expectation.judge(report) for expectation in self.expect]
        if verdicts:
            report["expectations"] = [verdict.as_json() for verdict in verdicts]
        if self.json == "-":
            print_json(report)
        elif self.json is not None:
            _write(self.json, report)
        for verdict in verdicts:
            if not verdict.holds:
                print_error(verdict.sentence())
        return all(verdict.holds for verdict in verdicts)

    @contextmanager
    def exporters(self) -> Iterator[Sequence[Exporter]]:
        """Create the exporters that were asked for, before the program starts, and close them at the end.

        Raises:
            ValueError: one cannot be created; the message is one line.
        """
        with ExitStack() as stack:
            found: list[Exporter] = []
            if self.log is not None:
                found.append(_named("--log", EventFile, self.log, self.sample_log))
            if self.metrics is not None:
                from concwatch.exporters.openmetrics import MetricsServer  # late: it loads http.server

                server = _named("--metrics", MetricsServer, *self.metrics)
                click.echo(f"concwatch: metrics at {server.address}", err=True)
                found.append(server)
            if self.otlp is not None:
                try:
                    from concwatch.exporters.otlp import OtlpExporter  # an extra
                except ImportError:
                    raise ValueError(
                        "--otlp needs OpenTelemetry's SDK: pip install 'concwatch[otlp]'"
                    ) from None
                found.append(_named("--otlp", OtlpExporter, self.otlp))
            if self.on_event is not None:
                found.append(EventCommand(self.on_event))
            for exporter in found:
                stack.callback(exporter.close)
            yield found

    async def _step(
        self, watching: Watching, program: StartedProgram | None, save: Callable[[], None]
    ) -> bool:
        """Step until the program ends, or for ``seconds``; save the report every `SAVE_INTERVAL`.

        Return whether time was up while it ran.
        """
        save_due = watching.began + SAVE_INTERVAL
        seconds = math.inf if self.seconds is None else self.seconds
        ends, before_end = watching.began + seconds, min(WAITS_BEFORE_END, seconds / 2)
        requested = False
        try:
            while (watching.clock() < ends or not requested) and _goes_on(watching, program):
                watching.step()
                if not requested and watching.clock() >= ends - before_end:
                    requested = True
                    ends = max(ends, watching.clock() + before_end)  # this step may be late
                    watching.request_waits(WAITS_GROUPS)
                    if self.json is not None:
                        watching.request_memory()
                if watching.clock() >= save_due:
                    save_due = watching.clock() + SAVE_INTERVAL
                    save()
                await asyncio.sleep(1 / HZ)
        finally:
            time_is_up = watching.clock() >= ends and _goes_on(watching, program)
            if watching.clock() >= ends:
                watching.end_time()
            await watching.host.finish()
            watching.step()
        return time_is_up


def _goes_on(watching: Watching, program: StartedProgram | None) -> bool:
    """Return whether the program runs, or a process that was attached to, or may be found on its host."""
    if program is not None:
        return program.status is None
    return bool(watching.alive) or not (watching.lanes or watching.host.problem)


def _named(option: str, create: Callable[..., Created], *arguments: Any) -> Created:
    """Create an exporter; the message of its ValueError begins with the option."""
    try:
        return create(*arguments)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def _write(file: str, report: Mapping[str, Any]) -> None:
    from json import dumps  # imported late: the screen does not need it

    write_atomically(Path(file), dumps(report, indent=2) + "\n")
