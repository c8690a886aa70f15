"""Failed tasks by kind: in words, in JSON, and which of them are logged."""

from concwatch.links.messages import Error, Failure, Tick
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.failures import (
    added,
    failure_text,
    failures_json,
    failures_since,
    failures_text,
    new_failures,
)
from tests.lab_driver import running_lane

REFUSED = Failure("ConnectionRefusedError", "/srv/app/jobs.py:12", 31)
TIMEOUT = Failure("TimeoutError", "/srv/app/jobs.py:9", 1)
REST = Failure("", "", 4)


def test_a_kind_is_described_by_its_type_line_and_count():
    assert failure_text(REFUSED) == "ConnectionRefusedError at app/jobs.py:12: 31 times"
    assert failure_text(TIMEOUT) == "TimeoutError at app/jobs.py:9: 1 time"
    assert failure_text(REST) == "other errors: 4 times"
    assert failure_text(Failure("KeyError", "", 2)) == "KeyError: 2 times"


def test_the_most_frequent_kinds_are_named():
    assert failures_text([]) == ""
    assert failures_text([TIMEOUT, REFUSED]) == f"{failure_text(REFUSED)}; {failure_text(TIMEOUT)}"
    many = [Failure(f"E{count}", "", count) for count in range(1, 6)]
    assert failures_text(many) == "E5: 5 times; E4: 4 times; E3: 3 times; 2 other kinds: 3 times"


def test_failures_of_several_runs_are_added_up():
    more = Failure(REFUSED.error, REFUSED.where, 9)
    assert added([REFUSED, TIMEOUT, more]) == (Failure(REFUSED.error, REFUSED.where, 40), TIMEOUT)
    assert failures_since([REFUSED], [Failure(REFUSED.error, REFUSED.where, 40), TIMEOUT]) == (more, TIMEOUT)
    assert failures_since([REFUSED], [REFUSED]) == ()


def test_json_has_null_for_what_is_not_known():
    assert failures_json([REST, REFUSED]) == [
        {"type": "ConnectionRefusedError", "where": "/srv/app/jobs.py:12", "count": 31},
        {"type": None, "where": None, "count": 4},
    ]


def test_new_kinds_and_those_ten_times_as_many_are_logged():
    assert new_failures([], [TIMEOUT]) == []  # the worker reports the very first with its traceback
    assert new_failures([], [REFUSED]) == [REFUSED]  # it is not the only one
    assert new_failures([TIMEOUT], [TIMEOUT, REST]) == [REST]
    assert new_failures([REFUSED], [Failure(REFUSED.error, REFUSED.where, 99)]) == []
    hundred = Failure(REFUSED.error, REFUSED.where, 100)
    assert new_failures([REFUSED], [hundred]) == [hundred]


def failing(time, *failures):
    """Return a tick of a worker whose tasks have failed."""
    failed = sum(one.count for one in failures)
    return Tick(time, failed, 0, 0, failed, 0, failures=failures or None)


def test_failures_are_in_the_event_log_and_the_status_of_the_lane():
    bench, lane, _ = running_lane()
    bench.receive(Error("a task failed: TimeoutError: late", None, None), failing(1.0, TIMEOUT))
    assert bench.texts("error") == ["a task failed: TimeoutError: late"]
    bench.receive(failing(1.1, TIMEOUT, REFUSED))
    assert bench.texts("error")[1:] == ["ConnectionRefusedError at app/jobs.py:12: 31 times"]
    bench.receive(Tick(1.2, 32, 0, 0, 32, 0))  # nothing has changed
    assert lane.worker.status.failures == (TIMEOUT, REFUSED)
    assert len(bench.texts("error")) == 2


def test_another_workload_has_its_own_failures():
    bench, lane, link = running_lane()
    bench.receive(failing(1.0, REFUSED))
    bench.lab.settings.set_workload("nop")
    assert link.names()[-1] == "workload"
    link.start(1.1)
    bench.pass_()
    assert lane.worker.status.failures == ()


def test_a_tear_down_that_fails_fails_the_lane():
    bench, lane, link = running_lane()
    bench.lab.switch(lane, False)
    bench.receive(Error("a task failed: RuntimeError: Session is closed"))
    assert lane.state is State.STOPPING  # what tasks do now is of no interest
    bench.receive(
        Error("tear-down of jobs:load failed: ZeroDivisionError at app/jobs.py:8: division", "stop")
    )
    assert (lane.state, link.killed) == (State.FAILED, True)
    assert lane.worker.life.reason.startswith("tear-down of jobs:load failed: ")
