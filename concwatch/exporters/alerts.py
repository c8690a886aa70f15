"""Rules for Prometheus that raise alerts from the metrics of a watched program."""

import json
import textwrap

from msgspec import Struct


class Alert(Struct, frozen=True):
    """An alert rule of Prometheus."""

    name: str
    query: str
    """PromQL: each time series of its result is an alert."""
    lasting: str
    """For how long the result must last."""
    severity: str
    summary: str
    description: str


PLACE = "{{ $labels.function }}{{ with $labels.file }} ({{ . }}:{{ $labels.line }}){{ end }}"
PROCESS = "{{ $labels.process }} {{ $labels.pid }}"

ALERTS = (
    Alert(
        "ConcwatchEventLoopBlocked",
        "rate(concwatch_function_blocked_seconds_total[2m]) > 0.25",
        "1m",
        "critical",
        f"An event loop is blocked{{{{ if $labels.function }}}} in {PLACE}{{{{ end }}}}",
        "It was blocked for {{ $value | humanizePercentage }} of the last two minutes (cause: "
        "{{ $labels.cause }}); nothing else of this loop runs meanwhile.",
    ),
    Alert(
        "ConcwatchStalled",
        # Without the loops of which ConcwatchEventLoopBlocked says the line.
        "concwatch_process_stalled_seconds > 30\n"
        "  unless on (job, instance) rate(concwatch_function_blocked_seconds_total[2m]) > 0.25",
        "1m",
        "critical",
        f"{PROCESS} is stalled",
        "It has not reported for {{ $value | humanizeDuration }}, or an event loop is that late: it is "
        "stopped, gets no CPU time, or native code holds the interpreter's lock.",
    ),
    Alert(
        "ConcwatchLeak",
        "concwatch_process_leaks > 0",
        "1m",
        "warning",
        f"{PROCESS} leaks",
        "{{ $value }} of its groups of tasks, threads, queues or files grow without end. The metric "
        "concwatch_function_leaks has the functions of tasks, the events of kind leak have the lines.",
    ),
    Alert(
        "ConcwatchMemoryLeak",
        "concwatch_process_memory_leaks > 0",
        "1m",
        "warning",
        f"The memory of {PROCESS} leaks",
        "It grows without end, while the live tasks do not. The events of kind memory have what grows.",
    ),
    Alert(
        "ConcwatchQueueGrowing",
        # The extra second keeps the two windows from sharing a reading.
        "min_over_time(concwatch_process_executor_queue_length[5m])\n"
        "  > max_over_time(concwatch_process_executor_queue_length[5m] offset 5m1s)",
        "5m",
        "warning",
        f"The executor queue of {PROCESS} grows",
        "Its shortest queue of the last five minutes, {{ $value }} jobs, is longer than the longest of the "
        "five minutes before: jobs come faster than its threads take them.",
    ),
    Alert(
        "ConcwatchTasksLeftOver",
        # A time series that is new has no increase.
        "increase(concwatch_function_tasks_left_over_total[10m]) > 0\n"
        "  or (concwatch_function_tasks_left_over_total\n"
        "      unless concwatch_function_tasks_left_over_total offset 10m) > 0",
        "0s",
        "warning",
        f"Tasks of {PLACE} are left over",
        "{{ $value | humanize }} were pending when the main coroutine of their loop returned.",
    ),
    Alert(
        "ConcwatchThrottled",
        "rate(concwatch_process_cpu_throttled_seconds_total[5m]) > 0.1",
        "5m",
        "warning",
        f"{PROCESS} is throttled by its CPU quota",
        "Its control group was stopped for {{ $value | humanizePercentage }} of the last five minutes, its "
        "cores added up.",
    ),
    Alert(
        "ConcwatchMemoryNearLimit",
        "max by (job, instance) (\n"
        "  concwatch_process_cgroup_memory_bytes / concwatch_process_cgroup_memory_limit_bytes\n"
        ") > 0.9",
        "2m",
        "critical",
        "{{ $labels.instance }} is near its memory limit",
        "Its control group uses {{ $value | humanizePercentage }} of its limit; at the limit, the kernel "
        "kills a process.",
    ),
)


def rules() -> str:
    """Return the alerts as a file of rules, in YAML."""
    lines = ["groups:", "  - name: concwatch", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            "        expr: |-",
            textwrap.indent(alert.query, " " * 10),
            f"        for: {alert.lasting}",
            f"        labels: {{severity: {alert.severity}}}",
            "        annotations:",
            # A string of JSON is one of YAML.
            f"          summary: {json.dumps(alert.summary)}",
            f"          description: {json.dumps(alert.description)}",
        ]
    return "\n".join(lines) + "\n"
