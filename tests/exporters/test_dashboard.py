"""The Grafana dashboard and the alert rules for Prometheus."""

import json
import re
import subprocess
import sys

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from concwatch.exporters.alerts import ALERTS, rules
from concwatch.exporters.dashboard import COLUMNS, PANELS, dashboard
from concwatch.exporters.families import FAMILIES
from concwatch.system.child import concwatch_command
from tests.command_line import invoke
from tests.programs import needs
from tests.prometheus import Prometheus, free_port
from tests.watch_driver import WatchBench, step_until

SAMPLES = {sample: family for family in FAMILIES for sample in family.samples}
QUERIES = [query for panels in PANELS.values() for panel in panels for query in panel.queries.values()]
QUERIES += [alert.query for alert in ALERTS]


def labels_of(query):
    """Return the labels that the metrics in a query have; KeyError if one does not exist."""
    names = re.findall(r"\bconcwatch_\w+", query)
    assert names
    return {"le", "job", "instance"}.union(*[SAMPLES[name].labels for name in names])


@pytest.mark.parametrize("query", QUERIES)
def test_each_metric_and_label_in_a_query_exists(query):
    known = labels_of(query)
    for grouped in re.findall(r"by \(([^)]*)\)", query):
        assert known.issuperset(grouped.split(", "))


def test_each_label_in_a_legend_or_a_text_exists():
    for panel in (panel for panels in PANELS.values() for panel in panels):
        for legend, query in panel.queries.items():
            assert labels_of(query).issuperset(re.findall(r"{{(\w+)}}", legend))
    for alert in ALERTS:
        used = re.findall(r"\$labels\.(\w+)", alert.summary + alert.description)
        assert labels_of(alert.query).issuperset(used)


def lost(before, after, path=""):
    """Yield the paths of what is in one JSON value and not in another one; empty values need not be."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{path}/{key}")
            elif value not in (None, "", [], {}):
                yield f"{path}/{key}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, values in enumerate(zip(before, after, strict=True)):
            yield from lost(*values, f"{path}/{index}")
    elif before != after:
        yield path


def test_grafana_s_own_types_know_all_of_the_dashboard():
    register_default_plugins()
    made = json.loads(invoke("dashboard").stdout)
    read = Dashboard.from_json(made)
    paths = {re.sub(r"\d+", "N", path) for path in lost(made, json.loads(JSONEncoder().encode(read)))}
    # The types for Python are those of Grafana 10.1, in which a heatmap's tooltip had no mode yet.
    assert paths <= {"/panels/N/options/tooltip/mode"}
    panels = [panel for panel in read.panels if isinstance(panel, Panel)]
    assert {type(target).__module__.rpartition(".")[2] for panel in panels for target in panel.targets} == {
        "prometheus"
    }


def test_panels_do_not_overlap_and_have_numbers_of_their_own():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = []
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= COLUMNS
        cells += [
            (x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
        ]
    assert len(set(cells)) == len(cells)


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.real
@needs("promtool")
def test_prometheus_parses_each_query_of_the_dashboard(tmp_path):
    targets = [target for panel in dashboard()["panels"] for target in panel.get("targets", ())]
    queries = [target["expr"].replace("$__rate_interval", "1m") for target in targets]
    records = [{"record": f"panel:{index}", "expr": query} for index, query in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": records}]}))
    assert f"{len(QUERIES) - len(ALERTS)} rules found" in promtool("check", "rules", file)


@pytest.mark.real
@needs("promtool")
def test_prometheus_accepts_the_alerts(tmp_path):
    file = tmp_path / "rules.yml"
    file.write_text(invoke("dashboard", "--alerts").stdout)
    assert f"SUCCESS: {len(ALERTS)} rules found" in promtool("check", "rules", file)


PLACE = 'cause="code", function="sync_queue", file="app.py", line="68", job="app", instance="web1"'
FUNCTION = 'function="fetch", file="app.py", line="10", job="app", instance="web1"'
PROCESS = 'process="app.py", pid="40", job="app", instance="web1"'
USED, LIMIT = "concwatch_process_cgroup_memory_bytes", "concwatch_process_cgroup_memory_limit_bytes"

CASES = {
    "ConcwatchEventLoopBlocked": [
        # A loop that has hung since the fifth minute, and one that is blocked for 0.1 s now and then.
        ({f"concwatch_function_blocked_seconds_total{{{PLACE}}}": "_x10 5+30x30"}, "4m", False),
        ({f"concwatch_function_blocked_seconds_total{{{PLACE}}}": "_x10 5+30x30"}, "8m", True),
        ({f"concwatch_function_blocked_seconds_total{{{PLACE}}}": "0+0.1x40"}, "15m", False),
        # Loading something for ten seconds once.
        ({f"concwatch_function_blocked_seconds_total{{{PLACE}}}": "0x10 10x30"}, "7m", False),
    ],
    "ConcwatchStalled": [
        ({f"concwatch_process_stalled_seconds{{{PROCESS}}}": "0x10 5+30x20"}, "9m", True),
        ({f"concwatch_process_stalled_seconds{{{PROCESS}}}": "0 0 2 0 0 1.5x30"}, "9m", False),
        (
            {
                f"concwatch_process_stalled_seconds{{{PROCESS}}}": "0x10 5+30x20",
                f"concwatch_function_blocked_seconds_total{{{PLACE}}}": "0x10 5+30x20",
            },
            "9m",
            False,
        ),
    ],
    "ConcwatchLeak": [
        ({f"concwatch_process_leaks{{{PROCESS}}}": "0x10 1x10"}, "4m", False),
        ({f"concwatch_process_leaks{{{PROCESS}}}": "0x10 1x10"}, "8m", True),
        ({f"concwatch_process_leaks{{{PROCESS}}}": "0x10 1x4 0x20"}, "12m", False),  # withdrawn
    ],
    "ConcwatchMemoryLeak": [
        ({f"concwatch_process_memory_leaks{{{PROCESS}}}": "0x10 1x10"}, "8m", True),
        ({f"concwatch_process_memory_leaks{{{PROCESS}}}": "0x20"}, "8m", False),
    ],
    "ConcwatchQueueGrowing": [
        ({f"concwatch_process_executor_queue_length{{{PROCESS}}}": "0+5x60"}, "25m", True),
        ({f"concwatch_process_executor_queue_length{{{PROCESS}}}": "0x20 400x60"}, "25m", False),  # a burst
        ({f"concwatch_process_executor_queue_length{{{PROCESS}}}": "0 9 3 40 0 7 0 80 2 0x60"}, "12m", False),
    ],
    "ConcwatchTasksLeftOver": [
        ({f"concwatch_function_tasks_left_over_total{{{FUNCTION}}}": "0x10 3x20"}, "4m", False),
        ({f"concwatch_function_tasks_left_over_total{{{FUNCTION}}}": "0x10 3x20"}, "6m", True),
        ({f"concwatch_function_tasks_left_over_total{{{FUNCTION}}}": "_x10 3x60"}, "6m", True),  # is new
        ({f"concwatch_function_tasks_left_over_total{{{FUNCTION}}}": "_x10 3x60"}, "30m", False),
    ],
    "ConcwatchThrottled": [
        ({f"concwatch_process_cpu_throttled_seconds_total{{{PROCESS}}}": "0+6x60"}, "15m", True),
        ({f"concwatch_process_cpu_throttled_seconds_total{{{PROCESS}}}": "0+1x60"}, "15m", False),
    ],
    "ConcwatchMemoryNearLimit": [
        ({f"{USED}{{{PROCESS}}}": "95x20", f"{LIMIT}{{{PROCESS}}}": "100x20"}, "5m", True),
        ({f"{USED}{{{PROCESS}}}": "80x20", f"{LIMIT}{{{PROCESS}}}": "100x20"}, "5m", False),
    ],
}
"""What each alert is raised for, and what not: time series, a time, and whether it is raised then."""

LABELS = {
    **dict.fromkeys(CASES, f'{{severity="warning", {PROCESS}}}'),
    "ConcwatchEventLoopBlocked": f'{{severity="critical", {PLACE}}}',
    "ConcwatchStalled": f'{{severity="critical", {PROCESS}}}',
    "ConcwatchTasksLeftOver": f'{{severity="warning", {FUNCTION}}}',
    "ConcwatchMemoryNearLimit": '{severity="critical", job="app", instance="web1"}',
}


def test_each_alert_has_cases_in_which_it_is_raised_and_others():
    assert {name: {raised for *_, raised in cases} for name, cases in CASES.items()} == {
        alert.name: {True, False} for alert in ALERTS
    }


@pytest.mark.real
@needs("promtool")
def test_alerts_are_raised_for_what_they_say_and_for_nothing_else(tmp_path):
    (tmp_path / "rules.yml").write_text(rules())
    tests = [
        {
            "interval": "30s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": f'ALERTS{{alertname="{name}", alertstate="firing"}}',
                    "eval_time": at,
                    "exp_samples": [
                        {
                            "labels": f'ALERTS{{alertname="{name}", alertstate="firing", {LABELS[name][1:]}',
                            "value": 1,
                        }
                    ]
                    if raised
                    else [],
                }
            ],
        }
        for name, cases in CASES.items()
        for series, at, raised in cases
    ]
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": ["rules.yml"], "evaluation_interval": "30s", "tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", file)


@pytest.mark.real
@needs("promtool")
@pytest.mark.parametrize(
    ("labels", "summary"),
    [
        (PLACE, "An event loop is blocked in sync_queue (app.py:68)"),
        ('cause="gc", function="", file="", line=""', "An event loop is blocked"),
        ('cause="code", function="other", file="", line=""', "An event loop is blocked in other"),
    ],
)
def test_the_text_of_a_blocked_loop_has_its_line_if_that_is_known(tmp_path, labels, summary):
    (tmp_path / "rules.yml").write_text(rules())
    known = {name: value for name, value in re.findall(r'(\w+)="([^"]*)"', labels) if value}
    description = (
        f"It was blocked for 100% of the last two minutes (cause: {known['cause']}); nothing else of this "
        "loop runs meanwhile."
    )
    alert = {
        "exp_labels": {"severity": "critical", **known},
        "exp_annotations": {"summary": summary, "description": description},
    }
    name = "ConcwatchEventLoopBlocked"
    test = {
        "interval": "30s",
        "input_series": [
            {"series": f"concwatch_function_blocked_seconds_total{{{labels}}}", "values": "0+30x20"}
        ],
        "alert_rule_test": [{"eval_time": "8m", "alertname": name, "exp_alerts": [alert]}],
    }
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": ["rules.yml"], "evaluation_interval": "30s", "tests": [test]}))
    assert "SUCCESS" in promtool("test", "rules", file)


HUNG = """
import asyncio, queue, time
async def tick():
    while True: await asyncio.create_task(work())
async def work(): await asyncio.sleep(0.05)
def wait_for_ever(): queue.Queue().get()
async def main():
    tasks = [asyncio.create_task(tick()) for _ in range(20)]
    await asyncio.sleep(3)
    wait_for_ever()
asyncio.run(main())
"""
"""A service that hangs after three seconds."""

MAY_BE_EMPTY = {
    *("leaks", "failed tasks", "queued jobs", "throttled by a CPU quota", "memory", "events"),
    *("memory of the limit", "memory of the control group"),
}
"""Panels: nothing leaks there, outcomes are not counted, nothing is an event; limits there need not be."""


def empty_panels(prometheus):
    """Return the titles of the dashboard's panels of which a query finds nothing."""
    empty = set()
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"].replace("$__rate_interval", "1m")
            for name in ("job", "instance"):
                query = query.replace(f"${name}", ".*")
            if not prometheus.rows(query):
                empty.add(panel["title"])
    return empty


BLOCKED = 'concwatch_function_blocked_seconds_total{function="wait_for_ever"}'


@pytest.mark.real
@needs("prometheus")
def test_prometheus_knows_of_a_hung_loop_while_it_hangs_and_answers_the_dashboard(tmp_path):
    port = free_port()
    (tmp_path / "app.py").write_text(HUNG)
    (tmp_path / "rules.yml").write_text(rules())
    app = [sys.executable, str(tmp_path / "app.py")]
    command = concwatch_command("watch", "--timing", "--metrics", str(port), "--", *app)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen(command, **quiet) as watched,
        Prometheus(tmp_path, port, rules="rules.yml") as prometheus,
    ):
        try:
            # A scrape that fails because the machine is busy leaves a query without an answer until the next.
            first = []
            step_until(WatchBench(), lambda: first.extend(prometheus.values(BLOCKED)) or first, "a block")
            step_until(WatchBench(), lambda: prometheus.values(BLOCKED) > [first[0] + 2], "more of it")
            step_until(WatchBench(), lambda: prometheus.values(f"rate({BLOCKED}[1m])") > [0], "its rate")
            buckets = "rate(concwatch_process_event_loop_lag_seconds_bucket[1m])"
            lag = f"histogram_quantile(0.99, sum by (le) ({buckets}))"
            step_until(WatchBench(), lambda: prometheus.values(lag) > [1.0], "a lag of seconds")
            durations = 'concwatch_function_task_duration_seconds_count{function="work"}'
            step_until(WatchBench(), lambda: prometheus.values(durations) > [20], "durations")
            assert len(prometheus.ask("rules")["groups"][0]["rules"]) == len(ALERTS)
            step_until(WatchBench(), lambda: empty_panels(prometheus) <= MAY_BE_EMPTY, "all panels")
        finally:
            watched.terminate()
