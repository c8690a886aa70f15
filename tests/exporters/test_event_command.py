"""A command for each event of a watched program."""

import pytest

from concwatch.exporters.event_command import MOST_WAITING, EventCommand
from tests.processes import assert_ended
from tests.watch_driver import lines_of, step_until


@pytest.mark.real
def test_a_command_is_run_for_each_event_one_at_a_time(bench, tmp_path):
    overlap = f"mkdir {tmp_path}/lock || touch {tmp_path}/overlap"
    command = EventCommand(f"{overlap}; cat >> {tmp_path}/got; rmdir {tmp_path}/lock")
    command.observe(bench.watching)
    for number in range(5):
        bench.watching.log("", f"event {number}")
    bench.advance()
    command.close()
    assert [line["text"] for line in lines_of(tmp_path / "got")] == [f"event {number}" for number in range(5)]
    assert not (tmp_path / "overlap").exists()


@pytest.mark.real
def test_a_command_that_fails_is_one_event_for_which_it_is_not_run(bench, tmp_path):
    command = EventCommand(f"echo run >> {tmp_path}/runs; exit 3")
    command.observe(bench.watching)
    for number in range(3):
        bench.watching.log("", f"event {number}")
    runs = tmp_path / "runs"
    step_until(bench, lambda: runs.exists() and len(runs.read_text().split()) == 3, "three runs")
    command.close()
    assert [event.text for event in bench.watching.events.since(0) if event.kind == "export"] == [
        f"--on-event echo run >> {tmp_path}/runs; exit 3: exited with status 3"
    ]
    assert len((tmp_path / "runs").read_text().split()) == 3


@pytest.mark.real
def test_a_command_that_hangs_blocks_nothing_and_is_killed_at_the_end(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("concwatch.exporters.event_command.END_LIMIT", 0.1)
    command = EventCommand(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    command.observe(bench.watching)
    for number in range(MOST_WAITING + 10):
        bench.watching.log("", f"event {number}")
    step_until(bench, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip(), "a run")
    command.close()
    assert_ended([int((tmp_path / "pid").read_text())])
    (text,) = [event.text for event in bench.watching.events.since(0) if event.kind == "export"]
    assert text.endswith("too slow: 10 events were dropped")
