"""Casts: the output of a terminal with its times."""

import json
import os
import shutil
import subprocess
import time

import pytest

from concwatch.demos.recording_driver import RecordedTerminal
from concwatch.pictures.cast import Cast
from tests.screen import stage


def test_a_cast_has_a_header_and_a_line_for_each_output_and_resize():
    output, sizes = [(0.1234567, "\x1b[1m─\r\n"), (2.5, "\u2028")], [(1.25, (100, 30)), (2.5, (80, 24))]
    header, *lines = Cast(120, 40, "Ten “tasks”", 1_700_000_000).text(output, sizes).split("\n")[:-1]
    assert json.loads(header) == {
        "version": 2, "width": 120, "height": 40, "timestamp": 1_700_000_000, "title": "Ten “tasks”",
        "env": {"TERM": "xterm-256color"},
    }  # fmt: skip
    assert list(map(json.loads, lines)) == [
        [0.123457, "o", "\x1b[1m─\r\n"], [1.25, "r", "100x30"],
        [2.5, "r", "80x24"],  # before the output of the same time, which is for this size
        [2.5, "o", "\u2028"],
    ]  # fmt: skip


@pytest.mark.real
async def test_recorded_output_shows_the_same_screen_in_a_terminal(tmp_path):
    tmux = shutil.which("tmux")
    if tmux is None:
        pytest.skip("needs tmux, as a real terminal")
    recorded = RecordedTerminal()
    async with stage(terminal=recorded) as s:
        await s.switch_on("threads", "asyncio", tasks=2_000)
        await s.run(5)
        expected = s.lines()
        await s.until(lambda: len(recorded.output) > 3, "Textual writes")
        for _ in range(3):  # drawing lags by a frame
            await s.settle()
    moments = [seconds for seconds, _ in recorded.output]
    assert moments == sorted(moments)
    assert "\x1b[38;2;" in "".join(data for _, data in recorded.output), "in 24-bit color"
    output = "".join(
        data for _, data in recorded.output[:-1]
    )  # without the last, which restores the terminal
    assert show_in_tmux(tmux, output, expected, tmp_path / "output") == expected


def show_in_tmux(tmux, output, expected, file):
    """Write ``output`` to a terminal, wait for the ``expected`` lines, and return the lines that it shows."""
    file.write_text(output)
    server = [tmux, "-L", f"pictures-{os.getpid()}", "-f", "/dev/null"]
    command = f"cat {file}; sleep 60"
    subprocess.run([*server, "new-session", "-d", "-x", "120", "-y", "40", command], check=True)
    deadline, lines = time.monotonic() + 20, []
    try:
        while lines != expected and time.monotonic() < deadline:
            time.sleep(0.05)
            done = subprocess.run([*server, "capture-pane", "-p"], stdout=subprocess.PIPE, check=True)
            lines = [line.rstrip() for line in done.stdout.decode().split("\n")[:40]]
    finally:
        subprocess.run([*server, "kill-server"], check=True)
    return lines
