"""Comparisons of two recordings or results: what is worse, by how much, and whether it is significant."""

import copy
import gzip
import json
import os
import re
from math import inf

import pytest

from concwatch.measure.comparing.comparison import Difference
from concwatch.measure.measured import Measured
from concwatch.monitor.metrics.metrics import EngineFacts, blank_sample
from concwatch.monitor.metrics.state import State
from concwatch.recordings.format import VERSION, EndLine, Header, LabLine, LaneLine, SettingsLine, encode
from tests.command_line import invoke, refused
from tests.fake_link import Costs

MACHINE = {
    "system": "Linux 6.1", "architecture": "x86_64", "cores": 2, "memory_total": 24 << 30,
    "memory_available": 20 << 30, "python": "CPython 3.11.7",
}  # fmt: skip

# Differences.


def compare_values(a, b, worse=1):
    return Difference(Measured.of(a), Measured.of(b), worse)


def test_median_and_spread_ignore_missing_values():
    measured = Measured.of([10, 12, None, 20, float("nan")])
    assert (measured.median, measured.low, measured.high, measured.count) == (12, 10, 20, 3)
    assert measured.spread == pytest.approx(10 / 12)
    assert Measured.of([7]).spread is None
    assert Measured.of([0, 0]).spread is None
    assert Measured.of([None, float("inf")]) is None


@pytest.mark.parametrize(
    ("b", "verdict"),
    [
        ([111, 120, 130], "worse"),
        ([110, 120, 130], "within the spread"),  # the ranges touch
        ([70, 80, 89], "better"),
        ([80, 99, 200], "within the spread"),
        ([105], "within the spread"),
        ([111], "worse"),
        ([99, 100, 101], "equal"),
    ],
)
def test_a_difference_is_significant_if_the_ranges_do_not_overlap(b, verdict):
    difference = compare_values([90, 100, 110], b)
    assert (difference.verdict, difference.significant) == (verdict, verdict in ("worse", "better"))


def test_the_spread_of_single_values_is_unknown():
    verdicts = [compare_values([100], [b]).verdict for b in (101, 99, 100)]
    assert verdicts == ["worse, spread unknown", "better, spread unknown", "equal"]


@pytest.mark.parametrize(
    ("worse", "a", "b", "worse_by", "ratio"),
    [
        (1, 100, 125, 0.25, 1.25), (1, 100, 75, -0.25, 0.75), (-1, 100, 75, 0.25, 0.75),
        (-1, 100, 125, -0.25, 1.25), (-1, 100, 0, 1.0, 0.0), (0, 100, 125, 0.0, 1.25), (1, 0, 5, inf, None),
        (-1, 0, 5, -inf, None), (1, -100, -50, 0.5, None), (1, 0, 0, 0.0, None),
        (1, 1e-300, 1e300, inf, None),
    ],
)  # fmt: skip
def test_more_memory_or_time_and_a_lower_rate_are_worse(worse, a, b, worse_by, ratio):
    difference = compare_values([a], [b], worse)
    assert (difference.worse_by, difference.change, difference.ratio) == (worse_by, b - a, ratio)
    assert difference.fails(10_000_000) is (worse_by == inf)


@pytest.mark.parametrize(
    ("b", "percent", "fails"),
    [(105, 5, False), (105.1, 5, True), (101, 0, True), (100, 0, False), (50, 0, False), (104.9, 5, False)],
)
def test_a_difference_fails_above_the_percentage_but_not_at_it(b, percent, fails):
    assert compare_values([100], [b]).fails(percent) is fails
    # Numbers without an exact floating-point representation.
    assert compare_values([0.1], [b / 1000]).fails(percent) is fails


# Results of `concwatch run`.


def failing(done):
    """Return the names of the metrics that fail, and check that the exit status agrees."""
    names = re.findall("^fails · ([^:]+):", done.stdout, re.MULTILINE)
    assert done.exit_code == bool(names)
    return names


def cautions(done):
    return [line for line in done.stdout.splitlines() if line.startswith("caution")]


def lane(engine="asyncio", **metrics):
    return {
        "engine": engine, "runtime": "CPython 3.11.7", "flags": [], "state": "done", "reason": None,
        "traced": False, "gc": "default", "tasks": 1000, "peak_live": 1000, **metrics,
    }  # fmt: skip


def run_result(*lanes, workload="sleep:10", **machine):
    return {
        "concwatch": "0.1.0", "machine": {**MACHINE, **machine}, "workload": workload, "lanes": list(lanes),
    }  # fmt: skip


@pytest.fixture
def compare(tmp_path):
    """Write A and B to files, bytes as they are and others as JSON, and compare them."""

    def run(a, b, *options, names=("before.json", "after.json")):
        paths = [tmp_path / name for name in names]
        for path, content in zip(paths, (a, b), strict=True):
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return invoke("compare", *paths, *options)

    return run


A_RUN = run_result(
    lane(rss_per_task=1024.0, create_rate=40_000.0, wake_lag_p99=0.010, peak_rss=50 << 20),
    lane("threads", rss_per_task=10_240.0),
)
B_RUN = run_result(
    lane(rss_per_task=1280.0, create_rate=50_000.0, wake_lag_p99=0.010, peak_rss=45 << 20),
    lane("gevent", rss_per_task=8_192.0),
)


def test_two_runs_are_compared_in_a_table(compare):
    done = compare(A_RUN, B_RUN)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "after.json against before.json",
        "A: before.json, concwatch run",
        "B: after.json, concwatch run",
        "",
        "asyncio            A         B  difference  ratio",
        "RSS/task       1 KiB  1.25 KiB      +256 B   1.25  worse, spread unknown",
        "created/s     40 k/s    50 k/s     +10 k/s   1.25  better, spread unknown",
        "lag p99        10 ms     10 ms         0 s   1.00  equal",
        "peak RSS      50 MiB    45 MiB      -5 MiB  0.900  better, spread unknown",
        "",
        "only in A: threads",
        "only in B: gevent",
        "Beyond the spread: the ranges of A and B, lowest to highest, have no value in common. Spread",
        "  unknown: one value each, so any difference counts.",
        "1 worse, 2 better, 1 within the spread or equal.",
    ]


def test_hosts_are_compared_and_several_hosts_of_one_run_are_distinguished(compare):
    one, other = (run_result(lane(rss_per_task=1024.0 * n, host=f"web{n}")) for n in (1, 2))
    done = compare(one, other)
    assert "RSS/task      1 KiB  2 KiB      +1 KiB   2.00  worse, spread unknown" in done.stdout
    assert cautions(done) == ["caution · host (asyncio): A web1, B web2"]
    both = run_result(*one["lanes"], *other["lanes"])
    done = compare(both, both)
    assert "asyncio · web1" in done.stdout
    assert "asyncio · web2" in done.stdout
    assert "2 KiB" in done.stdout


def test_fail_over_lists_what_got_worse_and_sets_the_exit_status(compare):
    done = compare(A_RUN, B_RUN, "--fail-over", "5%")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-3:] == [
        "1 worse, 2 better, 1 within the spread or equal. 1 of them worse by more than 5 %.",
        "fails · threads: missing in B",
        "fails · asyncio · RSS/task: 1 KiB → 1.25 KiB, worse by 25 %, spread unknown",
    ]
    done = compare(A_RUN, B_RUN, "--fail-over", "25")
    assert failing(done) == ["threads"]
    assert done.stdout.splitlines()[-2].endswith("Nothing is worse by more than 25 %.")
    # In the other direction, the rate falls and the peak rises.
    assert failing(compare(B_RUN, A_RUN, "--fail-over", "0")) == [
        "gevent",
        "asyncio · created/s",
        "asyncio · peak RSS",
    ]
    # A metric that was zero before.
    a, b = run_result(lane(gc_seconds=0.0)), run_result(lane(gc_seconds=0.5))
    done = compare(a, b, "--fail-over", "1000")
    assert failing(done) == ["asyncio · in GC"]
    assert "in GC: 0 s → 500 ms, worse than none, spread unknown" in done.stdout
    (metric,) = json.loads(compare(a, b, "--json").stdout)["figures"]
    assert (metric["worse_by"], metric["ratio"]) == (None, None)
    assert failing(compare(b, a, "--fail-over", "0")) == []


def test_fail_over_fails_if_an_engine_is_missing_in_b_or_its_tasks_fail_there(compare):
    a = run_result(lane(gc_seconds=0.5), lane("threads", gc_seconds=0.5))
    b = run_result(lane(gc_seconds=0.5))
    assert failing(compare(a, b, "--fail-over", "5")) == ["threads"]
    assert failing(compare(b, a, "--fail-over", "5")) == []
    assert failing(compare(a, b)) == []
    broken = run_result(lane(gc_seconds=0.5, state="failing", reason="all tasks failed", failed=1000))
    done = compare(b, broken, "--fail-over", "5")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (1, "fails · asyncio: failing in B")
    assert json.loads(compare(b, broken, "--fail-over", "5", "--json").stdout)["lost"] == [
        "asyncio: failing in B"
    ]
    assert failing(compare(broken, broken, "--fail-over", "5")) == []


def test_json_has_all_figures_and_verdicts(compare):
    done = compare(A_RUN, B_RUN, "--fail-over", "20", "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert report["figures"][0] == {
        "section": "asyncio", "name": "RSS/task", "engine": "asyncio", "size": None,
        "figure": "rss_per_task", "unit": "bytes",
        "a": {"median": 1024.0, "low": 1024.0, "high": 1024.0, "count": 1, "spread": None},
        "b": {"median": 1280.0, "low": 1280.0, "high": 1280.0, "count": 1, "spread": None},
        "difference": 256.0, "ratio": 1.25, "worse_by": 0.25, "spread_known": False, "counts": True,
        "verdict": "worse, spread unknown", "fails": True,
    }  # fmt: skip
    assert [metric["fails"] for metric in report["figures"]] == [True, False, False, False]
    assert [metric["unit"] for metric in report["figures"]] == ["bytes", "tasks/s", "seconds", "bytes"]
    assert [lane["engine"] for lane in report["only_in_a"]] == ["threads"]
    assert (report["a"]["file"], report["fail_over_percent"], report["fails"]) == ("before.json", 20, True)


def test_markdown_is_written_to_a_file_or_standard_output(compare, tmp_path):
    file = tmp_path / "report.md"
    done = compare(A_RUN, B_RUN, "--markdown", file, "--fail-over", "5")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, "after.json against before.json")
    text = file.read_text()
    assert "| RSS/task | 1 KiB | – | 1.25 KiB | – | +256 B | 1.25 | worse, spread unknown |" in text
    assert "- **fails**: asyncio · RSS/task: 1 KiB → 1.25 KiB, worse by 25 %, spread unknown" in text
    assert compare(A_RUN, B_RUN, "--markdown", "-", "--fail-over", "5").stdout == text


@pytest.mark.parametrize(
    ("change", "caution"),
    [
        ({"machine": {"python": "CPython 3.13.0"}}, "Python: A CPython 3.11.7, B CPython 3.13.0"),
        ({"machine": {"cores": 8}}, "cores: A 2, B 8"),
        ({"machine": {"memory_total": 8 << 30}}, "memory: A 24 GiB, B 8 GiB"),
        ({"machine": {"memory_total": (24 << 30) + (1 << 20)}}, None),  # too small a difference
        ({"concwatch": "0.2.0"}, "concwatch: A 0.1.0, B 0.2.0"),
        ({"workload": "hold"}, "workload: A sleep:10, B hold"),
        ({"lane": {"traced": True}}, "tracing (asyncio): A off, B on"),
        ({"lane": {"gc": "frozen"}}, "collector (asyncio): A default, B frozen"),
        ({"two": {"gc": "frozen"}}, "collector (asyncio, uvloop): A default, B frozen"),
        ({"all": {"gc": "frozen"}}, "collector: A default, B frozen"),
        ({"lane": {"runtime": "CPython 3.13.0"}}, "worker (asyncio): A CPython 3.11.7, B CPython 3.13.0"),
        ({"lane": {"peak_live": 500}}, "tasks live at most (asyncio): A 1,000, B 500"),
        ({"lane": {"peak_live": 1_010}}, None),
        ({"lane": {"state": "limited", "reason": "pid_max"}}, "B: asyncio limited: pid_max"),
        ({"lane": {"failed": 12}}, "B: asyncio: 12 tasks failed"),
    ],
)
def test_different_conditions_are_cautions_and_not_errors(compare, change, caution):
    a = run_result(*(lane(name, rss_per_task=1000.0) for name in ("asyncio", "uvloop", "gevent")))
    b = copy.deepcopy(a)
    b["machine"] |= change.get("machine", {})
    for count, lanes in enumerate(("lane", "two", "all"), 1):
        for changed in b["lanes"][:count]:
            changed |= change.get(lanes, {})
    b |= {key: value for key, value in change.items() if key in b and key != "machine"}
    done = compare(a, b, "--fail-over", "0")
    assert done.exit_code == 0
    assert cautions(done) == ([f"caution · {caution}"] if caution else [])


# Results of experiments.


def cell(**options):
    return {
        "engine": "asyncio", "size": 1000, "action": "burst", "workload": "sleep:10", "trace": False,
        "gc": "default", "threads": None, "stack": None, "chunks": 1, "older": 0, "read_after": None,
        "seconds": 1.0, "repeats": 3, "state": "done", "reason": None,
        "runs": [{"figures": {}, "runtime": "CPython 3.11.7", "flags": [], "trail": []}], **options,
    }  # fmt: skip


def row(number, values, **more):
    return {
        "series": "asyncio", "engine": "asyncio", "size": 1000, "state": "done", "reason": None,
        "repeats": values, "cell": number, **more,
    }  # fmt: skip


def experiment(rows, cells, *, unit="MB", name="mine", reading="rss_added", **more):
    table = {"title": "Memory", "reading": reading, "unit": unit, "rows": rows}
    return {
        "concwatch": "0.1.0", "machine": MACHINE, "experiment": {"name": name}, "partial": False,
        "begun": "2026-11-21T11:27:08+00:00", "tables": [table], "cells": cells, **more,
    }  # fmt: skip


SIZES = [cell(), cell(size=100)]


def two_sizes(large, small, **more):
    return experiment([row(0, large), row(1, small, size=100)], SIZES, **more)


def test_cells_of_experiments_are_compared_by_their_spread(compare):
    # 1,000 tasks: medians 10 and 12 MB, ranges 9..11 and 11.5..12.5 are disjoint; spreads 20 % and 8.33 %.
    # 100 tasks: medians 2 and 3 MB, but 1..4 overlaps 2.5..5.
    a, b = two_sizes([9, 10, 11], [1, 2, 4]), two_sizes([11.5, 12.5, 12], [2.5, 3, 5])
    done = compare(a, b, "--fail-over", "5")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[1] == "A: before.json, experiment mine, begun 2026-11-21 11:27:08"
    assert lines[4:7] == [
        "Memory, MB         A  spread      B  spread  difference  ratio",
        "100 asyncio    2.000   150 %  3.000  83.3 %      +1.000   1.50  within the spread",
        "1,000 asyncio  10.00    20 %  12.00  8.33 %      +2.000   1.20  worse",
    ]
    assert lines[-1] == "fails · Memory, MB · 1,000 asyncio: 10.00 → 12.00, worse by 20 %"
    assert compare(a, b, "--fail-over", "20").exit_code == 0
    assert compare(b, a, "--fail-over", "0").exit_code == 0
    # A single run has no spread; a higher rate is better.
    once = compare(two_sizes([10], [2]), two_sizes([11], [2])).stdout
    assert "worse, spread unknown" in once
    assert "spread  " not in once.splitlines()[4]
    a, b = (two_sizes([v, v + 1], [1, 2], unit="tasks/s", reading="create_rate") for v in (100, 200))
    assert failing(compare(a, b, "--fail-over", "0")) == []
    assert "200.5 → 100.5, worse by 49.9 %" in compare(b, a, "--fail-over", "0").stdout


def test_cells_in_only_one_of_the_results_are_listed(compare):
    a = experiment(
        [row(0, [1, 2]), row(1, [3, 4], size=100), row(2, [5, 6], series="frozen")],
        [cell(), cell(size=100), cell(gc="frozen")],
        partial=True,
    )
    b = experiment(
        [
            row(0, [1, 2]),
            row(1, [], size=100, state="skipped", reason="too large"),
            row(2, [50, 60], series="frozen"),
            row(None, [], series="go", engine="go", state="absent"),
        ],
        [cell(), cell(size=100), cell(gc="off")],
    )
    done = compare(a, b, "--fail-over", "0")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert (
        "only in A: Memory, MB: 100 asyncio (there skipped: too large), 1,000 frozen (there with gc off)"
        in text
    )
    assert "only in B: Memory, MB: 1,000 frozen (there with gc frozen)" in text
    assert "caution · A: partial: stopped before all of it had been measured" in done.stdout


# Recordings.


def sample(lane, time, live, *, completed=0, gc=0.0, cost=None):
    """Return a sample of a worker of 10 MiB when idle and ``cost`` bytes for each task, also as measured."""
    rss = (10 << 20) + int(live * (cost or 0))
    return blank_sample(
        lane, time, rss=rss, live=live, created=completed + live, completed=completed, failed=0, cancelled=0,
        gc=gc, rss_per_task=cost, measured_live=live if cost else None,
    )  # fmt: skip


def recording(*lines, names=("asyncio",), end=True, settings=None):
    lanes = tuple(EngineFacts(name) for name in names)
    header = Header(
        VERSION, "2026-11-21T12:30:00.000000+00:00", "0.1.0", MACHINE, "concwatch", 10.0, lanes, 1 << 30
    )
    first = [LabLine(0.0, 10.0, 1 << 30, tuple(range(len(lanes)))), settings or SettingsLine(time=0.0)]
    last = [EndLine(10.0, "quit", 0)] if end else []
    return b"".join(map(encode, [header, *first, *lines, *last]))


def state(lane, time, peak=0, *, speed=None, born=0.0, doing=State.RUNNING, **known):
    known = {"create_rate": speed, "peak_live": peak, "born": born, "runtime": "CPython 3.11.7", **known}
    return LaneLine(time=time, lane=lane, state=doing, **known)


def session(factor=1.0):
    """Return the lines of three workers; the first and the last reach the peak of 1,000 live tasks.

    Expected metrics for a factor of 1: 1,020 and 1,000 bytes a task when they were last near the peak, 8,000
    and 6,000 tasks created a second, 0.25 and 0.5 s in the collector at the end, a peak RSS of 20 and 18 MB.
    """
    return [
        state(0, 0.0),
        sample(0, 0.1, 0),
        state(0, 0.2, 500, speed=5_000.0),
        sample(0, 0.2, 500, cost=700.0 * factor),
        sample(0, 0.3, 500, cost=700.0 * factor),  # not near the peak
        state(0, 0.4, 1_000, speed=8_000.0, wake_lag_p99=0.02 * factor),
        sample(0, 0.4, 1_000, cost=5_000.0 * factor),
        sample(0, 0.6, 995, cost=1_020.0 * factor, completed=100),
        sample(0, 1.8, 300, cost=9_000.0, gc=0.25 * factor),
        state(0, 1.8, 1_000, speed=8_000.0, wake_lag_p99=0.02 * factor, peak_rss=20_000_000),
        state(0, 1.9, 1_000, speed=8_000.0, doing=State.STOPPING),
        sample(0, 1.9, 300, gc=7.0),  # ignored: the worker is stopping
        blank_sample(0, 2.0),
        state(0, 3.0, born=3.0),
        state(0, 3.1, 800, speed=1_000.0, born=3.0),
        sample(0, 3.1, 800, cost=400.0),
        blank_sample(0, 3.3),
        state(0, 4.0, 1_000, speed=6_000.0, born=4.0, wake_lag_p99=0.01 * factor, peak_rss=18_000_000),
        sample(0, 4.1, 1_000, cost=1_000.0 * factor, gc=0.5 * factor),
        blank_sample(0, 4.3),
    ]


def test_figures_of_a_recording_match_those_computed_by_hand(compare):
    a = recording(*session(), state(1, 0.0), sample(1, 0.1, 0), names=("asyncio", "uvloop"))
    done = compare(a, recording(*session(2.0)), "--json")
    assert done.exit_code == 0, done.output
    metrics = {metric["figure"]: metric for metric in json.loads(done.stdout)["figures"]}
    assert {metric["engine"] for metric in metrics.values()} == {"asyncio"}  # the other one never ran
    for name, low, high in (
        ("rss_per_task", 1_000, 1_020), ("create_rate", 6_000, 8_000), ("wake_lag_p99", 0.01, 0.02),
        ("gc_seconds", 0.25, 0.5), ("peak_rss", 18_000_000, 20_000_000),
    ):  # fmt: skip
        a = metrics[name]["a"]
        assert (a["low"], a["high"], a["count"]) == (low, high, 2), name
    assert metrics["rss_per_task"]["a"]["spread"] == pytest.approx(20 / 1_010)
    assert not {"traced_per_task", "retained_rss"} & set(metrics)  # not traced, and not measured after an end
    assert metrics["rss_per_task"]["b"]["median"] == 2_020
    assert (metrics["rss_per_task"]["counts"], metrics["rss_per_task"]["spread_known"]) == (True, True)
    assert metrics["create_rate"]["verdict"] == "equal"
    # A factor of 1.1 is significant; with 1.01, 1,010..1,030.2 and 1,000..1,020 overlap.
    a = recording(*session())
    for factor, expected in ((1.1, ["asyncio · RSS/task"]), (1.01, [])):
        assert failing(compare(a, recording(*session(factor)), "--fail-over", "0.5%")) == expected


def test_recordings_cut_off_damaged_or_of_other_conditions_get_a_caution(compare):
    whole = recording(*session())
    cut = recording(*session(), end=False)[:-60]
    output = compare(whole, gzip.compress(cut), names=("whole.jsonl", "cut.jsonl.gz")).stdout
    assert re.search(r"caution · B: cut off after .* compared as far as it goes", output)
    damaged = whole.replace(b"[0,0.3,", b"[0,0.3?,", 1)
    assert cautions(compare(whole, damaged)) == ["caution · B: 1 damaged line skipped"]
    other = recording(*session(), settings=SettingsLine(time=0.0, workload="hold", gc="frozen"))
    assert cautions(compare(whole, other)) == [
        "caution · workload (asyncio): A sleep:10, B hold",
        "caution · collector (asyncio): A default, B frozen",
    ]


# Errors.

RUN = run_result(lane(rss_per_task=1.0))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (RUN, recording(*session()), 'is a result of concwatch run and "after.json" is a recording'),
        (RUN, two_sizes([1], [2]), 'a result of the experiment "mine"; only two of the same kind'),
        (two_sizes([1], [2]), two_sizes([1], [2], name="yours"), 'the experiment "mine" and "after.json" is'),
        (RUN, run_result(lane("uvloop", rss_per_task=1.0)), "only engines that both have are compared"),
        (RUN, run_result(lane(peak_rss=1)), "have no metric in common"),
        (RUN, run_result(), '"after.json" has no figure to compare'),
        (RUN, run_result(lane(runtime=None, state="failed", reason="no", rss_per_task=1.0)), "failed: no"),
        (recording(*session()), recording(), '"after.json" has no figure to compare'),
        (RUN, b"", "is empty, not a recording, or what run, sweep, watch or experiment wrote"),
        (RUN, b"hello", "is damaged (JSON is malformed"),
        (RUN, b"[]", "is damaged (Expected `object`"),
        (RUN, {}, "it is neither a recording nor a result"),
        (RUN, {"lanes": 5}, "is damaged"),
        (RUN, b"[" * 100_000, "is damaged"),
        (RUN, json.dumps(RUN).replace('task": 1.0', 'task": ' + "1" * 400).encode(), "is damaged"),
        (RUN, json.dumps(RUN).replace('"rss_per_task": 1.0', '"rss_per_task": "1"').encode(), "rss_per_task"),
        (RUN, b'{"type":"concwatch-recording","version":4}\n', "was written by a newer concwatch"),
        (RUN, b'{"type":"concwatch-recording","version":1}\n', "has an unknown version"),
        (two_sizes([1], [2]), experiment([row(7, [1])], SIZES), "there is no cell 7"),
        (two_sizes([1], [2]), two_sizes([1], [2], unit="furlong"), 'unknown unit "furlong"'),
    ],
)  # fmt: skip
def test_incomparable_files_are_a_one_line_error_with_exit_status_2(compare, a, b, expected):
    done = compare(a, b)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("concwatch: ")
    assert expected in line


def test_fail_over_accepts_percentages_from_0(tmp_path):
    (tmp_path / "a").write_text(json.dumps(RUN))
    for valid in ("0", "5%", " 5 % ", "2.5", ".5%", "100."):
        assert invoke("compare", tmp_path / "a", tmp_path / "a", "--fail-over", valid).exit_code == 0
    assert 'expected "0.05%" or "5%"' in refused(
        "compare", tmp_path / "a", tmp_path / "a", "--fail-over", "0.05"
    )
    for invalid in ("", "five", "-1", "nan", "inf", "1e3", "5%%", "5 percent"):
        line = refused("compare", tmp_path / "a", tmp_path / "a", f"--fail-over={invalid}")
        assert 'is not a percentage; expected 0 or more, such as "5" or "2.5%"' in line


def test_unreadable_and_unwritable_files_are_a_one_line_error(tmp_path):
    good, linked, same = tmp_path / "r.json", tmp_path / "linked", tmp_path / "other" / "r.json"
    same.parent.mkdir()
    for path in (good, same):
        path.write_text(json.dumps(RUN))
    os.link(good, linked)
    for expected, *arguments in (
        ('none.json" does not exist', good, tmp_path / "none.json"),
        ("is a folder", tmp_path, good),
        ("Missing argument 'B'", good),
        ("No such file", good, good, "--markdown", tmp_path / "none" / "a.md"),
        ("is one of the files compared", good, good, "--markdown", good),
        ("is one of the files compared", good, good, "--markdown", linked),
        ("both print on standard output", good, good, "--json", "--markdown", "-"),
    ):
        assert expected in refused("compare", *arguments)
    # Files of the same name are shown with their folders.
    assert invoke("compare", good, same).stdout.split()[:2] == [str(same), "against"]


def test_escape_sequences_in_a_file_are_not_printed(compare):
    result = experiment([row(0, [1], series="\x1b[31mred\n\x07")], SIZES, name="\x1b[2Jmine")
    done = compare(result, result)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def watch_result(*processes, seconds=10.0):
    return {"command": ["python", "app.py"], "exit": 0, "seconds": seconds, "processes": list(processes)}


def process(name="app.py", groups=(), **metrics):
    metrics = {"rss_last": 1 << 20, "created": 100, "cpu_seconds": 1.0, **metrics}
    return {"name": name, "groups": list(groups), **metrics}


def group(name="fetch", **metrics):
    return {"name": name, "created": 50, "live_peak": 5, "mean_life": 0.1, "leak": False, **metrics}


def test_watched_programs_are_compared_by_process_and_coroutine(compare):
    before = watch_result(*[process(rss_last=size << 20, groups=[group()]) for size in (10, 11, 12)])
    groups = [group(live_peak=9, leak=True), group("gone", live_peak=0)]
    after = watch_result(*[process(rss_last=size << 20, groups=groups) for size in (20, 21)])
    done = compare(before, after, "--fail-over", "10%")
    assert failing(done) == ["app.py · RSS at the end", "app.py · fetch"]
    for line in (
        r"RSS at the end .* 11 MiB .* 20\.5 MiB .*",
        r"created +10/s .*10/s .*equal",
        r"fetch: peak live +5 .* 9 .*",
    ):
        assert re.search(f"^{line}$", done.stdout, re.MULTILINE)
    assert "app.py: fetch leaks" in done.stdout
    assert "gone" not in done.stdout
    # More tasks created is neither better nor worse.
    done = compare(watch_result(process()), watch_result(process(created=200)), "--fail-over", "1%")
    assert failing(done) == []
    assert "differs" in done.stdout


# With fake workers.

SMALL = """
name = "small"
title = "t"
about = "a"
method = "m"
[[table]]
title = "Memory of all"
reading = "rss_per_task"
unit = "KiB"
action = "hold"
series = [{ engine = "asyncio", workload = "hold", seconds = 0.2, sizes = [500], repeats = 2 }]
"""


def test_results_written_by_run_and_experiment_can_be_compared(tmp_path, fakes):
    paths = [tmp_path / name for name in ("cheap.json", "expensive.json")]
    for path, costs in zip(paths, (Costs(), Costs(task=10_000)), strict=True):
        fakes.costs["asyncio"] = costs
        path.write_text(invoke("run", "asyncio", "--tasks", 1000, "--seconds", 0.1, "--json").stdout)
    failed = "asyncio · RSS/task: 1.23 KiB → 9.77 KiB, worse by 694 %, spread unknown"
    assert f"fails · {failed}" in invoke("compare", *paths, "--fail-over", "50").stdout
    (tmp_path / "small.toml").write_text(SMALL)
    for path in paths:
        assert invoke("experiment", tmp_path / "small.toml", "--json", path).exit_code == 0
    done = invoke("compare", *paths, "--json", "--fail-over", "1000")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    (metric,) = report["figures"]
    assert (metric["section"], metric["size"], metric["engine"]) == ("Memory of all, KiB", 500, "asyncio")
    assert (metric["a"]["count"], metric["b"]["count"], metric["spread_known"]) == (2, 2, True)
    assert report["cautions"] == []


def sweep_result(served, *, most=64, engine="asyncio", wobble=0.01):
    """Return a sweep of tasks of 0.1 s of which ``served`` run at once."""
    tasks = [number for number in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64) if number <= most]
    steps = [
        {
            "tasks": number, "throughput": (rate := 10 * min(number, served)), "interval": wobble * rate,
            "duration_p50": 0.1, "duration_p99": 0.1 * max(1, number / served), "cpu": 0.1,
            "memory_per_task": None, "seconds": 3.0, "known": True,
        }
        for number in tasks
    ]  # fmt: skip
    found = {"engine": engine, "runtime": "CPython 3.11.7", "steps": steps, "ended_by": None, "failed": False}
    return {"concwatch": "0.1.0", "machine": MACHINE, "workload": "app.jobs:fetch", "engines": [found]}


def test_sweeps_are_compared_by_their_intervals_and_say_whether_the_knee_moved(compare):
    done = compare(sweep_result(8), sweep_result(24), "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    found = {each["figure"]: each for each in report["figures"]}
    assert set(found) >= {"knee", "knee_throughput", "knee_p99", "best_throughput", "contention", "crosstalk"}
    assert (found["knee"]["a"]["median"], found["knee"]["b"]["median"]) == (8, 23)
    assert (found["knee"]["verdict"], found["knee"]["counts"]) == ("differs", True)
    assert found["best_throughput"]["verdict"] == "better"
    assert found["contention"]["verdict"] == "better"
    assert found["knee_p99"]["verdict"] == "equal"
    (moved,) = report["moves"]
    assert re.fullmatch(r"asyncio: the knee moved from 8 \(8 to 8\) to 23 \(2[23] to 2[34]\)\.", moved)
    assert moved in " ".join(compare(sweep_result(8), sweep_result(24)).stdout.split())


def test_a_knee_has_not_moved_within_its_interval(compare):
    done = compare(sweep_result(8, wobble=0.1), sweep_result(8, wobble=0.02), "--fail-over", "0")
    assert done.exit_code == 0, done.output
    assert "asyncio: the knee did not move: 8 (" in done.stdout


def test_a_knee_that_is_beyond_the_most_tasks_has_moved(compare):
    done = compare(sweep_result(8, most=32), sweep_result(64, most=32))
    assert "the knee moved: 8 (8 to 8) before; throughput rises up to 32 tasks after." in done.stdout
    assert "only in A: asyncio: enough at once (there throughput rises up to 32 tasks)" in done.stdout
    done = compare(sweep_result(64, most=32), sweep_result(8, most=32))
    assert "the knee moved: throughput rises up to 32 tasks before; 8 (8 to 8) after." in done.stdout


def test_growth_of_less_than_half_a_task_a_minute_is_none(compare):
    a, b = (
        watch_result(process(groups=[group(growth={"per_minute": found, "low": 0.0, "high": 1.0})]))
        for found in (0.0, 0.3)
    )
    done = compare(a, b, "--fail-over", "0")
    (line,) = [line for line in done.stdout.splitlines() if "growth" in line]
    assert line.split()[-3:] == ["0", "–", "equal"]
    assert failing(done) == []
