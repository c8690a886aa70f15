"""Events and samples of a watched program as JSON lines."""

import errno
import os
import shutil

import pytest

from concwatch.exporters.event_lines import RECOVERY, EventFile
from concwatch.monitor.verdicts.events import Place
from tests.watch_driver import lines_of


def test_each_event_is_a_json_line_when_it_happens(bench, tmp_path):
    bench.watching.log(
        "app.py 40", "it leaks", "warning", "leak", place=Place("fetch", "/srv/app.py:10")
    )  # before it is observed
    log = EventFile(str(tmp_path / "events"))
    log.observe(bench.watching)
    bench.advance()
    (line,) = lines_of(tmp_path / "events")
    assert line.pop("time").endswith("+00:00")
    number = {"number": bench.watching.events.count, "updates": None}
    assert line == {
        "process": "app.py 40",
        "kind": "leak",
        "severity": "warning",
        "text": "it leaks",
        "function": "fetch",
        "where": "/srv/app.py:10",
        **number,
    }
    bench.watching.log("", "the last one")
    log.close()
    assert [line["text"] for line in lines_of(tmp_path / "events")] == ["it leaks", "the last one"]


def test_samples_are_written_at_their_interval(bench, tmp_path):
    log = EventFile(str(tmp_path / "events"), sample_interval=2.0)
    log.observe(bench.watching)
    bench.first.report_groups(1.0, fetch=3)
    bench.advance(4.5)
    samples = lines_of(tmp_path / "events")
    assert [(sample["pid"], sample["live"], sample["rss"]) for sample in samples] == [(40, 3, 40 << 20)] * 2
    log.close()


@pytest.mark.skipif(not hasattr(shutil.os, "mkfifo"), reason="no /dev/full")
def test_a_full_disk_is_one_event_and_watching_continues(bench):
    log = EventFile("/dev/full")
    log.observe(bench.watching)
    for number in range(20):
        bench.watching.log("", f"event {number}")
        bench.advance()
    log.close()
    (text,) = [event.text for event in bench.watching.events.since(0) if event.kind == "export"]
    assert text == "--log /dev/full: No space left on device: lines are left out until there is room"


def test_a_disk_with_space_for_short_lines_only_is_reported_once_and_again_when_there_is_space(
    bench, tmp_path, monkeypatch
):
    def write(descriptor, data, original=os.write):
        if b"long" in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(descriptor, data)

    monkeypatch.setattr("concwatch.exporters.event_lines.os.write", write)
    log = EventFile(str(tmp_path / "events"))
    log.observe(bench.watching)
    for text in ("short", "long", "short", "long"):
        bench.watching.log("", text)
        bench.advance()
    bench.advance(RECOVERY + 1)
    log.close()
    assert [event.text.partition(": ")[2] for event in bench.watching.events.since(0) if event.kind] == [
        "No space left on device: lines are left out until there is room",
        "can be written again; 2 lines were left out",
    ]
    assert [line["text"] for line in lines_of(tmp_path / "events")].count("short") == 2
