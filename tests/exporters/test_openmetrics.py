"""The metrics of a watched program, as Prometheus scrapes them."""

import contextlib
import gzip
import subprocess
import threading
import urllib.request

import prometheus_client.openmetrics.parser as openmetrics
import prometheus_client.parser as plain
import pytest

from concwatch.exporters.families import FAMILIES
from concwatch.exporters.function_totals import MOST_FUNCTIONS
from concwatch.exporters.openmetrics import MetricsServer
from concwatch.links.agent_messages import AgentEnd, AgentTick, GroupReport, Groups
from concwatch.links.messages import Block, StackFrame
from tests.processes import PATIENCE
from tests.programs import needs
from tests.watch_driver import step_until


@pytest.fixture
def scrape(bench):
    """Return a function that reads the metrics of ``bench`` as Prometheus does; None if that fails."""
    server = MetricsServer("127.0.0.1", 0)
    server.observe(bench.watching)

    def read(accept="text/plain", encoding=""):
        found = []

        def request():
            headers = {"Accept": accept, "Accept-Encoding": encoding}
            asked = urllib.request.Request(server.address, headers=headers)
            with contextlib.suppress(OSError), urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                found.append(answer.read() if encoding else answer.read().decode())

        thread = threading.Thread(target=request)
        thread.start()
        step_until(bench, lambda: not thread.is_alive(), "the metrics")
        return found[0] if found else None

    yield read
    server.close()


def samples_of(text):
    """Return each sample of a text by its name and labels."""
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


def test_metrics_have_the_figures_of_each_process_and_function(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    bench.watching.log("", "it leaks", "warning", "leak")
    bench.watching.lanes[0].readings.reader.throttling = {"cpu_quota": 0.5, "throttled": 1.8}
    bench.advance()
    found = samples_of(scrape())
    process, function = '{pid="40",process="app.py"}', '{file="/srv/app.py",function="fetch",line="10"}'
    assert found["concwatch_processes"] == 1
    assert found[f"concwatch_process_tasks{process}"] == 3
    assert found[f"concwatch_process_tasks_created_total{process}"] == 10
    assert found[f"concwatch_process_resident_memory_bytes{process}"] == 40 << 20
    assert found[f"concwatch_process_cpu_throttled_seconds_total{process}"] == 1.8
    assert found[f"concwatch_function_tasks{function}"] == 3
    assert found[f"concwatch_function_tasks_ended_total{function}"] == 7
    assert found['concwatch_events_total{kind="leak"}'] == 1
    assert found['concwatch_events_total{kind="memory"}'] == 0  # so that its first one is an increase
    assert f"concwatch_process_traced_memory_bytes{process}" not in found  # unknown is not 0


def test_functions_beyond_the_first_fifty_are_one(bench, scrape):
    bench.first.report_groups(1.0, **{f"function_{number}": (1, 2) for number in range(MOST_FUNCTIONS + 7)})
    found = samples_of(scrape())
    live = {name: value for name, value in found.items() if name.startswith("concwatch_function_tasks{")}
    assert len(live) == MOST_FUNCTIONS + 1
    assert live['concwatch_function_tasks{file="",function="other",line=""}'] == 7


def test_totals_of_functions_never_fall(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    before = samples_of(scrape())
    bench.first.report(AgentEnd())
    bench.running.clear()
    bench.advance(1.0)
    bench.watching.lanes.clear()  # as when its lane is given to another process
    bench.agent(41).report_groups(2.0, fetch=(1, 1))
    after = samples_of(scrape())
    created = 'concwatch_function_tasks_created_total{file="/srv/app.py",function="fetch",line="10"}'
    live = created.replace("_created_total", "")
    assert (before[created], before[live]) == (10, 3)
    assert (after[created], after[live]) == (11, 1)


def test_a_process_that_has_lost_its_agent_has_no_tasks_and_is_counted_once(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    scrape()
    bench.first.disconnect()
    bench.advance()
    process, function = '{pid="40",process="app.py"}', '{file="/srv/app.py",function="fetch",line="10"}'
    for running in (True, False):
        found = samples_of(scrape())
        assert f"concwatch_process_tasks{process}" not in found
        assert found.get(f"concwatch_function_tasks{function}", 0) == 0
        assert found[f"concwatch_function_tasks_created_total{function}"] == 10
        if running:
            bench.running.clear()
            bench.advance(1.0)


def test_a_process_that_ends_between_two_scrapes_is_counted_once(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    scrape()
    bench.first.report_groups(2.0, fetch=(2, 14))
    bench.first.report(AgentEnd())
    bench.advance()
    bench.running.clear()
    bench.advance(1.0)
    function = '{file="/srv/app.py",function="fetch",line="10"}'
    for _ in range(3):
        found = samples_of(scrape())
        assert found[f"concwatch_function_tasks_created_total{function}"] == 14
        assert found.get(f"concwatch_function_tasks{function}", 0) == 0


def test_a_failed_scrape_does_not_disturb_watching(bench, scrape, monkeypatch):
    monkeypatch.setattr("concwatch.exporters.collection.FunctionTotals.update", lambda *_: 1 / 0)
    assert scrape() is None
    monkeypatch.undo()
    assert "concwatch_processes 1.0" in scrape()


def blocked(number, seconds, function="sync_queue", ended=False, cause="code"):
    """Return a report of a block at line 68."""
    stack = (StackFrame(function, "/srv/app.py:68"),) if function else ()
    return Block(number, "loop", seconds, ended=ended, cause=cause, stack=stack, own=(0,) if stack else ())


def blocks_in(text):
    """Return how many blocks there were at each place, and how long they took."""
    found = samples_of(text)
    names = ("concwatch_function_blocks_total", "concwatch_function_blocked_seconds_total")
    places = [name.removeprefix(names[0]) for name in found if name.startswith(names[0])]
    return {place: tuple(found[name + place] for name in names) for place in places}


AT_68 = '{cause="code",file="/srv/app.py",function="sync_queue",line="68"}'


def test_a_block_counts_while_it_lasts_and_once(bench, scrape):
    for seconds in (1.0, 2.0, 36.0):
        bench.first.report(blocked(1, seconds))
        assert blocks_in(scrape()) == {AT_68: (1, seconds)}
    bench.first.report(blocked(1, 36.5, ended=True), blocked(2, 0.5, ended=True))
    assert blocks_in(scrape()) == {AT_68: (2, 37.0)}


def test_blocks_are_told_by_their_cause_and_added_up_over_processes_that_have_ended_too(bench, scrape):
    second = bench.agent(41)
    for agent in (bench.first, second):
        agent.report(blocked(1, 1.0, ended=True), blocked(2, 0.25, "", ended=True, cause="gc"))
    second.report(AgentEnd())
    bench.advance()
    bench.running.discard(41)
    bench.advance(1.0)
    collector = '{cause="gc",file="",function="",line=""}'
    for _ in range(2):
        assert blocks_in(scrape()) == {AT_68: (2, 2.0), collector: (2, 0.5)}


def test_a_block_that_was_shorter_than_reported_does_not_let_a_counter_fall(bench, scrape):
    bench.first.report(blocked(1, 3.0))
    scrape()
    bench.first.report(blocked(1, 2.5, ended=True))
    assert blocks_in(scrape()) == {AT_68: (1, 3.0)}


def test_lines_that_block_beyond_the_first_fifty_are_one(bench, scrape):
    for number in range(MOST_FUNCTIONS + 7):
        bench.first.report(blocked(number, 1.0, f"function_{number}", ended=True))
    found = blocks_in(scrape())
    assert len(found) == MOST_FUNCTIONS + 1
    assert found['{cause="code",file="",function="other",line=""}'] == (7, 7.0)


def histogram_in(text, name, labels):
    """Return how many values are no larger than each bound, how many there are, and their sum."""
    found = samples_of(text)
    bounds = {
        float(key.partition(',le="')[2].partition('"')[0]): value
        for key, value in found.items()
        if key.startswith(f"{name}_bucket") and all(label in key for label in labels.split(","))
    }
    return bounds, found[f"{name}_count{{{labels}}}"], found[f"{name}_sum{{{labels}}}"]


def test_lag_has_all_readings_not_only_those_of_scrapes(bench, scrape):
    for lag in (0.001, 0.002, 3.0, 0.05):
        bench.first.report(AgentTick(1.0, lag=lag))
        bench.advance()
    bounds, count, total = histogram_in(
        scrape(), "concwatch_process_event_loop_lag_seconds", 'pid="40",process="app.py"'
    )
    assert (bounds[0.001], bounds[0.0025], bounds[2.5], bounds[5.0], bounds[float("inf")]) == (1, 2, 3, 4, 4)
    assert (count, total) == (4, pytest.approx(3.053))


def timed(at, number, *durations, name="fetch"):
    """Return a scan that has timed tasks of one function."""
    counts = {"created": 100, "ended": 90, "live": 10}
    group = GroupReport(number, name, "/srv/app.py", 10, durations=durations, **counts)
    return AgentTick(at, scan_time=at, **counts), Groups(at, (group,))


def test_durations_have_all_timed_tasks_with_those_that_they_stand_for(bench, scrape):
    second = bench.agent(41)
    bench.first.report(*timed(1.0, 1, (0.02, 1), (0.3, 10)))
    second.report(*timed(1.0, 7, (400.0, 2)))
    labels = 'file="/srv/app.py",function="fetch",line="10"'
    name = "concwatch_function_task_duration_seconds"
    bounds, count, total = histogram_in(scrape(), name, labels)
    assert (bounds[0.01], bounds[0.025], bounds[0.5], bounds[300.0]) == (0, 1, 11, 11)
    assert (count, total) == (13, pytest.approx(803.02))
    second.report(AgentEnd())
    bench.advance()
    bench.running.discard(41)
    bench.first.report(*timed(2.0, 1, (1.0, 1)))
    bench.advance(1.0)
    for _ in range(2):
        assert histogram_in(scrape(), name, labels)[1:] == (14, pytest.approx(804.02))


def test_a_process_that_has_been_replaced_is_another_time_series(bench, scrape):
    bench.watching.lanes[0].readings.reader.further = {"started": 1_700_000_000.5}
    bench.first.report_groups(1.0, fetch=(3, 10))
    bench.advance()
    labels = '{pid="%d",process="app.py"}'
    assert samples_of(scrape())["concwatch_process_start_time_seconds" + labels % 40] == 1_700_000_000.5
    bench.running.clear()
    bench.advance(1.0)
    bench.agent(41).report_groups(2.0, fetch=(1, 1))
    found = samples_of(scrape())
    created = "concwatch_process_tasks_created_total"
    assert created + labels % 40 not in found
    assert found[created + labels % 41] == 1


def test_leaks_and_what_is_used_of_the_memory_limit_are_known_of_a_process(bench, scrape):
    lane, labels = bench.watching.lanes[0], '{pid="40",process="app.py"}'
    assert "concwatch_process_cgroup_memory_limit_bytes" + labels not in samples_of(scrape())  # no limit
    lane.readings.reader.further = {"memory_limit": 512 << 20, "memory_used": 500 << 20}
    lane.verdicts.memory.verdict = "memory"
    bench.advance()
    found = samples_of(scrape())
    assert found["concwatch_process_cgroup_memory_limit_bytes" + labels] == 512 << 20
    assert found["concwatch_process_cgroup_memory_bytes" + labels] == 500 << 20
    assert found["concwatch_process_leaks" + labels] == 0
    assert found["concwatch_process_memory_leaks" + labels] == 1


def test_all_metrics_are_in_the_table(scrape):
    served = {line.split()[2] for line in scrape().splitlines() if line.startswith("# TYPE")}
    assert served == {family.name + "_total" * (family.type.value == "counter") for family in FAMILIES}


@pytest.mark.real
@needs("promtool")
def test_promtool_accepts_the_metrics(bench, scrape):
    tick = AgentTick(1.0, created=10, live=3, ended=7, queued=2, lag=0.001, gc=0.1, traced=1)
    bench.first.report(tick, *timed(1.0, 1, (0.02, 1)), blocked(1, 1.0))
    checked = subprocess.run(["promtool", "check", "metrics"], input=scrape(), capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_openmetrics_are_served_to_clients_that_accept_them(bench, scrape):
    bench.first.report(*timed(1.0, 1, (0.02, 1), name='odd "name\\n'), blocked(1, 1.0))
    text = scrape("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    read = {metric.name: metric for metric in openmetrics.text_string_to_metric_families(text)}
    assert {(one.name, one.type.value, one.unit) for one in FAMILIES} == {
        (metric.name, metric.type, metric.unit) for metric in read.values()
    }
    (live,) = read["concwatch_function_tasks"].samples
    assert (live.labels["function"], live.value) == ('odd "name\\n', 10)


def test_both_formats_have_the_same_samples(bench, scrape):
    bench.first.report(*timed(1.0, 1, (0.02, 1)), blocked(1, 1.0))
    new = openmetrics.text_string_to_metric_families(scrape("application/openmetrics-text"))
    old = plain.text_string_to_metric_families(scrape())
    samples = [
        {(s.name, *sorted(s.labels.items()), s.value) for m in read for s in m.samples} for read in (new, old)
    ]
    assert samples[0] == samples[1] != set()


def test_an_answer_is_compressed_for_clients_that_accept_that(scrape):
    assert gzip.decompress(scrape(encoding="gzip")).endswith(b"\n")
