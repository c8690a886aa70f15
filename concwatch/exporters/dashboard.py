"""A Grafana dashboard over the metrics that Prometheus has of a watched program."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from concwatch.exporters.families import FUNCTION_LABELS, PLACE_LABELS, PREFIX, PROCESS_LABELS

SCHEMA = 39
"""The version of Grafana's dashboard schema, that of Grafana 10.4; newer ones migrate it on import."""

COLUMNS, HEIGHT = 24, 8
"""The width of a dashboard, and the height of a panel, in Grafana's units."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}

CHOSEN = 'job=~"$job", instance=~"$instance"'
"""The labels that select what the dashboard shows."""

OF_FUNCTION = "{{function}} ({{file}}:{{line}})"
OF_PLACE = f"{OF_FUNCTION} {{{{cause}}}}"
OF_PROCESS = "{{process}} {{pid}}"
"""The legends of time series of functions, of lines that block, and of processes."""

FUNCTION, PLACE, PROCESS = map(", ".join, (FUNCTION_LABELS, PLACE_LABELS, PROCESS_LABELS))

RATE = "$__rate_interval"


class DashboardPanel(Struct, frozen=True):
    """One panel.

    The metrics in its queries have no labels for what is chosen: these are added to each.
    """

    title: str
    queries: Mapping[str, str]
    """Legend → PromQL."""
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    description: str = ""
    stacked: bool = False
    limit: float | None = None
    """The value from which on it is red; only of a single number."""


def _top(query: str, by: str = FUNCTION) -> str:
    return f"topk(10, sum by ({by}) ({query}))"


def _rate(counter: str) -> str:
    return f"rate({counter}[{RATE}])"


def _quantile(share: float, histogram: str, by: str) -> str:
    return f"histogram_quantile({share}, sum by (le, {by}) ({_rate(f'{histogram}_bucket')}))"


DURATIONS = "concwatch_function_task_duration_seconds"

PANELS: Mapping[str, Sequence[DashboardPanel]] = {
    "At a glance": (
        DashboardPanel("processes", {"": "sum(concwatch_processes)"}, kind="stat", width=4),
        DashboardPanel("live tasks", {"": "sum(concwatch_function_tasks)"}, kind="stat", width=4),
        DashboardPanel(
            "event loops blocked",
            {"": f"sum({_rate('concwatch_function_blocked_seconds_total')}) or vector(0)"},
            "percentunit",
            "stat",
            4,
            "Share of the time; more than 100 % if several loops are blocked.",
            limit=0.25,
        ),
        DashboardPanel(
            "leaks",
            {"": "sum(concwatch_process_leaks) + sum(concwatch_process_memory_leaks)"},
            kind="stat",
            width=4,
            description="Groups of tasks, threads, queues and files, and the memory of processes, that grow "
            "without end.",
            limit=1,
        ),
        DashboardPanel(
            "queued jobs", {"": "sum(concwatch_process_executor_queue_length)"}, kind="stat", width=4
        ),
        DashboardPanel(
            "memory of the limit",
            {"": "max(concwatch_process_cgroup_memory_bytes / concwatch_process_cgroup_memory_limit_bytes)"},
            "percentunit",
            "stat",
            4,
            "Of the control group that has the least left; empty without a limit.",
            limit=0.9,
        ),
    ),
    "Tasks by coroutine function": (
        DashboardPanel("live tasks", {OF_FUNCTION: _top("concwatch_function_tasks")}, stacked=True),
        DashboardPanel(
            "created",
            {OF_FUNCTION: _top(_rate("concwatch_function_tasks_created_total"))},
            "cps",
        ),
        DashboardPanel(
            "duration",
            {
                f"p{percent} {OF_FUNCTION}": f"topk(5, {_quantile(percent / 100, DURATIONS, FUNCTION)})"
                for percent in (99, 50)
            },
            "s",
            description="From the first step to the end; with --timing.",
        ),
        DashboardPanel(
            "leaks", {OF_FUNCTION: "sum by (function, file, line) (concwatch_function_leaks) > 0"}, width=12
        ),
        DashboardPanel(
            "left over",
            {OF_FUNCTION: _top(f"increase(concwatch_function_tasks_left_over_total[{RATE}])")},
            width=12,
            description="Tasks that were pending when the main coroutine of their loop returned.",
        ),
    ),
    "Event loops": (
        DashboardPanel(
            "blocked, by line",
            {OF_PLACE: _top(_rate("concwatch_function_blocked_seconds_total"), PLACE)},
            "percentunit",
            description="Share of the time; it rises while a block goes on.",
            stacked=True,
        ),
        DashboardPanel(
            "blocks, by line",
            {OF_PLACE: _top(_rate("concwatch_function_blocks_total"), PLACE)},
            "cps",
        ),
        DashboardPanel(
            "busy",
            {OF_PROCESS: "concwatch_process_event_loop_busy_ratio"},
            "percentunit",
            description="Share of the time in which tasks ran.",
        ),
        DashboardPanel(
            "lag, p99 of the reports",
            {OF_PROCESS: _quantile(0.99, "concwatch_process_event_loop_lag_seconds", PROCESS)},
            "s",
        ),
        DashboardPanel(
            "lag of all",
            {"{{le}}": f"sum by (le) (increase(concwatch_process_event_loop_lag_seconds_bucket[{RATE}]))"},
            "s",
            "heatmap",
        ),
        DashboardPanel(
            "silent or overdue",
            {OF_PROCESS: "concwatch_process_stalled_seconds"},
            "s",
            description="How long a process has not reported, or an event loop has been late.",
        ),
    ),
    "Processes": (
        DashboardPanel(
            "memory",
            {
                f"RSS {OF_PROCESS}": "concwatch_process_resident_memory_bytes",
                f"PSS {OF_PROCESS}": "concwatch_process_proportional_memory_bytes",
            },
            "bytes",
        ),
        DashboardPanel(
            "memory of the control group",
            {
                f"used {OF_PROCESS}": "concwatch_process_cgroup_memory_bytes",
                f"limit {OF_PROCESS}": "concwatch_process_cgroup_memory_limit_bytes",
            },
            "bytes",
        ),
        DashboardPanel("CPU", {OF_PROCESS: _rate("concwatch_process_cpu_seconds_total")}, "percentunit"),
        DashboardPanel(
            "throttled by a CPU quota",
            {OF_PROCESS: _rate("concwatch_process_cpu_throttled_seconds_total")},
            "percentunit",
            description="Its cores added up.",
        ),
        DashboardPanel(
            "garbage collection",
            {OF_PROCESS: _rate("concwatch_process_gc_seconds_total")},
            "percentunit",
        ),
        DashboardPanel("threads", {OF_PROCESS: "concwatch_process_threads"}),
        DashboardPanel("queued jobs", {OF_PROCESS: "concwatch_process_executor_queue_length"}),
        DashboardPanel(
            "failed tasks",
            {OF_PROCESS: _rate("concwatch_process_tasks_failed_total")},
            "cps",
            description="With --outcomes.",
        ),
        DashboardPanel(
            "running for",
            {OF_PROCESS: "time() - concwatch_process_start_time_seconds"},
            "s",
            description="A process that was replaced begins again.",
        ),
    ),
    "Events": (
        DashboardPanel(
            "events",
            {"{{kind}}": f"sum by (kind) (increase(concwatch_events_total[{RATE}])) > 0"},
            width=24,
        ),
    ),
}
"""The panels by the title of their row."""


def _chosen(query: str) -> str:
    """Return a query with the labels of what is chosen in each selector."""
    return re.sub(rf"\b{PREFIX}_\w+", lambda name: f"{name[0]}{{{CHOSEN}}}", query)


def _panel(panel: DashboardPanel, number: int, x: int, y: int) -> dict[str, Any]:
    heat = panel.kind == "heatmap"
    custom = {"fillOpacity": 20 if panel.stacked else 0, "stacking": {"mode": "normal", "group": "A"}}
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "timeseries":
        defaults["custom"] = custom if panel.stacked else {"fillOpacity": 0}
    if panel.kind == "stat":
        steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
        steps += [] if panel.limit is None else [{"color": "red", "value": panel.limit}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    options: Mapping[str, Mapping[str, Any]] = {
        "timeseries": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "stat": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}},
        "heatmap": {
            "calculate": False,
            "cellGap": 1,
            "color": {
                "mode": "scheme",
                "scheme": "Oranges",
                "steps": 64,
                "fill": "dark-orange",
                "exponent": 0.5,
                "reverse": False,
            },
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "showValue": "never",
            "tooltip": {"mode": "single", "yHistogram": False},
            "yAxis": {"unit": "s", "axisPlacement": "left"},
        },
    }
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": HEIGHT // 2 if panel.kind == "stat" else HEIGHT},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options[panel.kind],
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": _chosen(query),
                "legendFormat": legend,
                "format": "heatmap" if heat else "time_series",
                "range": True,
            }
            for index, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def _panels() -> Iterator[dict[str, Any]]:
    """Yield all panels, with a title above each row of them; those of a row flow from left to right."""
    number = y = 0
    for title, panels in PANELS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
            "panels": [],
        }
        x, y, height = 0, y + 1, 0
        for panel in panels:
            if x + panel.width > COLUMNS:
                x, y = 0, y + height
            number += 1
            made = _panel(panel, number, x, y)
            yield made
            x, height = x + panel.width, made["gridPos"]["h"]
        y += height


def _variable(name: str, labels: str) -> dict[str, Any]:
    """Return a variable with the values of a label that the metric `INFO` has; all are chosen at first."""
    return {
        "name": name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values(concwatch_info{labels}, {name})", "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it: it asks for no more than which Prometheus to read."""
    source = {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
    }
    return {
        "uid": "concwatch",
        "title": "concwatch",
        "description": "The tasks, event loops and processes of watched programs.",
        "tags": ["concwatch", "asyncio"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "templating": {"list": [source, _variable("job", ""), _variable("instance", '{job=~"$job"}')]},
        "panels": [*_panels()],
    }
