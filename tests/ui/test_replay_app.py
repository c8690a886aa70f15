"""A replay with mouse and keys, on a clock that the test advances."""

import re
from contextlib import asynccontextmanager

import pytest
from textual.content import Content
from textual.events import MouseScrollDown

from concwatch.recordings.format import EventLine, MarkLine, encode
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import FileWriter
from concwatch.ui.apps.replay_app import ReplayApp
from concwatch.ui.panels.transport import REFUSAL
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.sources.play_head import format_moment, parse_moment
from concwatch.ui.widgets.bars.transport import Transport
from concwatch.ui.widgets.bars.transport_line import TransportLine, TransportMark, cell_of, share_at
from concwatch.ui.widgets.lanes.recorded_card import RecordedCard
from tests.command_line import refused
from tests.made_recording import MACHINE, made_lines
from tests.screen import Clock, ScreenStage, running, stage

SECONDS = 300.0
"""Length of the recording."""

SIZES = [(120, 40), (80, 24)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording of five minutes of two lanes."""
    path = tmp_path_factory.mktemp("made") / "run-3.jsonl"
    path.write_bytes(b"".join(made_lines(SECONDS, lanes=2)))
    return path


class ReplayStage(ScreenStage):
    """A running replay, with the actions and queries of tests."""

    @property
    def replay(self):
        """The replay's screen, even behind a dialog."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MonitorScreen))

    monitor = replay

    @property
    def transport(self):
        """The line with the play head."""
        return self.replay.query_one(Transport)

    @property
    def at(self):
        """The time shown, in seconds."""
        return self.replay.snapshot.elapsed

    @property
    def playing(self):
        """Whether the play head moves."""
        return "▶" in self.text(self.transport)

    def card(self, name):
        """The card of one lane."""
        return next(card for card in self.replay.query(RecordedCard) if name in self.text(card))

    async def advance(self, seconds):
        """Advance the clock, and update the screen."""
        self.clock.now += seconds
        self.replay.show_snapshot()
        await self.settle()

    async def pause_at(self, moment):
        """Pause, and jump to a moment."""
        if self.playing:
            await self.press("space")
        await self.type(str(moment))

    async def type(self, text):
        """Jump to a moment by typing it."""
        await self.press("j")
        await self.enter(text)
        await self.press("enter")
        await self.until(lambda: self.app.screen is self.replay, "the dialog is closed")
        await self.settle()

    def cell_offset(self, cell):
        """Return the offset of a cell of the line from the widget's edge."""
        return self.track()[0] + cell - self.transport.region.x, 0

    def track(self):
        """Return the column of the line's first cell, and the number of its cells."""
        row = self.lines()[self.transport.region.y]
        start = next(x for x, char in enumerate(row) if char in "━─●┿┼◆")
        return start, self.transport.region.right - 2 - start

    async def click_track(self, cell):
        """Click on a cell of the line."""
        await self.click(self.transport, *self.cell_offset(cell))
        await self.settle()


@asynccontextmanager
async def replay(path, size=(120, 40), speed=1.0):
    """Play a recording on a clock that the test advances."""
    clock = Clock()
    app = ReplayApp(load(path), path.name, speed, clock=clock)
    async with running(app, size) as pilot:
        s = ReplayStage(app, pilot, clock=clock)
        await s.until(lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a replay")
        await s.advance(0.0)
        yield s


# What is shown.


@pytest.mark.parametrize("size", SIZES)
async def test_a_replay_shows_recording_and_machine_and_the_figures_of_each_moment(made, size):
    async with replay(made, size) as s:
        heading = s.lines()[0]
        assert all(text in heading for text in ("replay", "run-3.jsonl", "21 Nov 2026"))
        if size[0] > 80:
            assert f"{MACHINE['python']} · {MACHINE['cores']} cores · 24 GiB" in heading
            assert "monitor 5 % CPU · 41 MiB" in heading
            await s.sees("pool 7 threads")  # recorded, not this machine's
        assert "Hz" not in heading
        await s.sees("1 threads", "2 pool", "● on", "memory/task", "00:00.0 / 05:00.0", "×1")
        assert s.lines()[-1].strip().startswith("space play")
        assert s.replay.focused is None
        await s.pause_at("1:37.5")
        assert s.at == 97.5
        await s.sees("20,000 live", within=s.card("threads"))
        assert s.row("threads").startswith("threads 20,000 1.27 KiB*")
        await s.sees("20,000 live after 80 ms", within=s.replay.query_one("EventView"))
        await s.sees("01:37.5 / 05:00.0", within=s.transport)
        await s.type("0:02")
        await s.sees("0 live", within=s.card("threads"))
        assert "20,000" not in s.text()


async def test_80_by_24_shows_six_lanes_their_costs_and_a_chart(tmp_path):
    path = tmp_path / "six.jsonl"
    path.write_bytes(b"".join(made_lines(20)))
    async with replay(path, size=(80, 24)) as s:
        await s.pause_at("0:15")
        await s.sees(*(f"{number} {lane.name}" for number, lane in enumerate(s.replay.snapshot.lanes, 1)))
        await s.sees("0└", "now", within=s.chart("rss"))
        await s.sees("RSS/task")


class ClockFromZero(Clock):
    """A clock that starts at 0, as a recording does: the columns of charts depend on it."""

    def __init__(self):
        self.now = 0.0


async def test_a_replay_shows_each_moment_as_the_monitor_did(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.screen.Clock", ClockFromZero)
    path, moments = tmp_path / "lab.jsonl", []

    def parts(s, screen):
        cards = [" ".join(s.text(card).split()) for card in screen.query("LaneCard")]
        grid, table = screen.query_one("ChartGrid").region, screen.query_one("CostTable").region
        lines = s.lines()
        return {
            "cards": [_without_track(card) for card in cards],
            "charts": [line[grid.x : grid.right] for line in lines[grid.y : grid.bottom]],
            # Without the answer, which is about all moments that have been shown.
            "costs": lines[table.y + 1 : table.bottom - 1],
            "panel": s.text(screen.query_one("CommonPanel")),
            # Without the scrollbar, which depends on the number of rows kept.
            "events": re.sub(" [▁-█](?= │)", "", s.text(screen.query_one("EventView"))),
        }

    async with stage(size=(120, 40)) as s:
        engines = [lane.engine for lane in s.lab.lanes]
        recorder = Recorder(path, FileWriter(path), "concwatch", engines)
        recorder.observe(s.lab)

        async def save_parts():
            await s.run(0.1)
            s.monitor.query_one("ChartGrid").redraw()  # which may be some tenths of a second old
            s.monitor.show_snapshot()
            await s.settle()
            moments.append((s.clock.now, s.monitor.query_one("ChartGrid").window, parts(s, s.monitor)))
            s.clock.now = round(s.clock.now + 0.05, 3)  # so that the next commands are later

        await s.press("t")  # an empty chart has the monitor's own hint
        await s.switch_on("asyncio", tasks=2_000)
        await save_parts()
        await s.switch_on("threads", tasks=700)
        await s.run(5)
        await save_parts()
        await s.press("g")
        await s.run(20)
        await s.press("right_square_bracket")
        await save_parts()
        s.lab.set_target(s.lane("asyncio"), 50_000)
        s.lab.settings.set_workload("hold")
        await s.run(12)
        await save_parts()
        s.lab.switch(s.lane("threads"), False)
        await s.run(3)
        await s.press("left_square_bracket", "left_square_bracket")
        await save_parts()
        recorder.stop("quit")

    async with replay(path, size=(120, 41)) as s:  # one line more, for the transport
        await s.press("space")
        for at, window, expected in reversed(moments):
            s.replay.charts.selected_window, s.replay.charts.growing = window, False
            await s.type(f"{at:.6f}")
            replayed = parts(s, s.replay)
            for part, text in expected.items():
                assert replayed[part] == text, f"{part} at {at:g} s"


def _without_track(card):
    """Return a card's text without the slider and its buttons, which only the monitor has."""
    words = [word for word in card.split() if word not in ("−10k", "+10k")]
    kept = [word for word in words if not set(word) <= set("━╍─●┃┬┯○")]
    return " ".join(kept).replace("drag the slider", "").strip()


# Playing.


async def test_a_replay_plays_pauses_at_the_end_and_restarts(made):
    async with replay(made) as s:
        assert s.playing
        await s.advance(12.34)
        await s.sees("00:12.3", within=s.transport)
        await s.press("space")
        await s.advance(100)
        assert not s.playing
        assert s.at == pytest.approx(12.34)
        await s.press("p")
        await s.advance(SECONDS)
        assert not s.playing
        await s.sees("05:00.0 / 05:00.0", within=s.transport)
        await s.press("space")
        await s.advance(1)
        assert s.at == pytest.approx(1)
        await s.tap("▶", s.transport)
        await s.advance(5)
        assert s.at == pytest.approx(1)


MOVES = (
    ("right", 101),
    ("left left", 98),
    ("shift+right", 110),
    ("shift+left", 90),
    ("full_stop", 100.1),
    ("comma comma", 99.8),
    ("ctrl+right", 100.1),
    ("ctrl+left", 99.9),
    ("home", 0),
    ("end", SECONDS),
    ("home left", 0),
    ("home comma", 0),
    ("end shift+right full_stop", SECONDS),
    ("n", 125),  # made_recording marks the 5th and 6th second of a minute, and a note at 0:30
    ("n n", 126),
    ("N", 66),
    ("home N", 0),
    ("end n", SECONDS),
)
"""Keys, and the moment to which they move from 1:40."""


async def test_keys_move_the_play_head_and_only_a_step_pauses(made):
    async with replay(made) as s:
        await s.press("space")
        for keys, moment in MOVES:
            s.replay.keyboard.on.head.skip(100 - s.at)
            await s.press(*keys.split())
            assert s.at == pytest.approx(moment), keys
        assert not s.playing
        await s.press("space")
        await s.advance(20)
        await s.press("right")
        await s.advance(1)
        assert s.at == pytest.approx(22)
        await s.press("full_stop")
        assert not s.playing
        assert s.at == pytest.approx(22.1)


async def test_keys_and_clicks_change_the_speed_between_0_1_and_100(made):
    async with replay(made, speed=3.0) as s:
        await s.sees("×3", within=s.transport)
        await s.press("less_than_sign")
        await s.sees("×2", within=s.transport)
        # While playing, going back skips the mark that was just passed.
        for seconds, moment in ((33.1, 65), (0.1, 30)):
            await s.advance(seconds)
            await s.press("N")
            assert s.at == moment
        await s.press("home", *["greater_than_sign"] * 9)
        await s.sees("×100", within=s.transport)
        await s.advance(2)
        assert s.at == pytest.approx(200)
        await s.press("home", *["less_than_sign"] * 9)
        await s.sees("×0.1", within=s.transport)
        await s.advance(10)
        assert s.at == pytest.approx(1)
        await s.tap("»", s.transport)
        await s.sees("×0.25", within=s.transport)
        await s.tap("«", s.transport)
        await s.sees("×0.1 ", within=s.transport)


@pytest.mark.parametrize("size", SIZES)
async def test_a_click_on_the_line_jumps_exactly_to_a_mark_or_an_end(made, size):
    async with replay(made, size) as s:
        await s.press("space")
        _, width = s.track()
        middle, note = width // 2 + 2, cell_of(30 / SECONDS, width)
        for cell, moment in ((width - 1, SECONDS), (0, 0), (note, 30), (note, 30)):
            await s.click_track(cell)
            assert s.at == moment
        await s.click_track(middle)
        marks = [mark.time for mark in load(made).marks(SECONDS).since(0)]
        assert s.at == pytest.approx(share_at(middle, width) * SECONDS, abs=0.01) or s.at in marks


async def test_a_drag_holds_the_play_head_and_playing_continues_from_the_release(made):
    async with replay(made, speed=10.0) as s:
        await s.advance(1)
        _, width = s.track()
        half = width // 2
        left, _ = s.cell_offset(0)
        await s.mouse_down(s.transport, offset=s.cell_offset(40))
        await s.hover(s.transport, offset=s.cell_offset(width - 1))
        await s.advance(20)
        assert (s.at, s.playing) == (SECONDS, True)
        await s.hover(s.transport, offset=s.cell_offset(half))
        held = s.at
        assert held == pytest.approx(share_at(half, width) * SECONDS, abs=2)
        assert s.playing
        await s.advance(20)
        assert s.at == held
        await s.hover("EventView", offset=(left + half + 5, 1))  # anywhere on the screen
        assert s.at > held
        await s.mouse_up("EventView", offset=(left + half, 1))
        before = s.at
        await s.advance(1)
        assert s.at == pytest.approx(before + 10)
        await s.press("space")
        await s.mouse_down(s.transport, offset=s.cell_offset(40))
        await s.mouse_up(s.transport, offset=s.cell_offset(40))
        assert not s.playing


async def test_hovering_the_line_shows_time_and_mark_and_the_wheel_moves_one_second(tmp_path):
    path = tmp_path / "brackets.jsonl"
    lines = [line.replace(b"look at minute 0", b"[red]x[/] [/]") for line in made_lines(SECONDS, lanes=1)]
    path.write_bytes(b"".join(lines))
    async with replay(path) as s:
        await s.pause_at("100")
        _, width = s.track()
        note = s.cell_offset(cell_of(30 / SECONDS, width))
        await s.hover(s.transport, offset=note)
        assert isinstance(s.transport.tooltip, Content), "a string would be parsed as markup"
        assert s.transport.tooltip.plain == "00:30.0  [red]x[/] [/]"
        await s.hover(s.transport, offset=s.cell_offset(width // 2))
        assert s.transport.tooltip.plain.startswith("02:")
        await s.wheel(MouseScrollDown, s.transport, note)
        assert s.at == pytest.approx(101)


async def test_a_moment_can_be_typed_and_an_invalid_one_shows_why(made):
    async with replay(made) as s:
        await s.press("space")
        await s.type("83.5s")
        assert s.at == pytest.approx(83.5)
        await s.press("j")
        for text, problem in {
            "6:00": '"6:00" is after the end, which is at 05:00.0',
            "101%": "is after the end",
            "soon": '"soon" is not a time',
        }.items():
            await s.enter(text)
            await s.press("enter")
            await s.sees(problem, within=lambda: s.query("#message"))
        await s.press("escape")
        assert s.app.screen is s.replay
        assert s.at == pytest.approx(83.5)


# The charts.


async def test_charts_have_the_monitors_keys_and_end_at_the_moment_shown(made):
    async with replay(made) as s:
        await s.pause_at("290")
        await s.sees("-4m", within=s.chart("rss"))
        await s.press("left_square_bracket", "left_square_bracket")
        await s.sees("-60s", within=s.chart("rss"))
        linear = s.text(s.chart("rss"))
        await s.press("l")
        assert s.text(s.chart("rss")) != linear
        await s.press("z")
        assert len(s.chart_titles()) == 1
        await s.press("c")
        assert s.chart_titles() == ["tracemalloc"]
        await s.press("z", "l")
        await s.type("20")
        before = s.text(s.chart("rss"))
        await s.type("4:50")
        assert s.text(s.chart("rss")) != before
        await s.type("20")
        assert s.text(s.chart("rss")) == before
        _, width = s.track()
        tick, _ = s.cell_offset(cell_of(65 / SECONDS, width))
        dark = s.color(s.transport, tick)
        s.app.theme = "concwatch-light"
        await s.settle()
        assert s.color(s.transport, tick) != dark, "the theme changes the colours of marks"


async def test_a_focused_chart_handles_only_the_arrow_keys(made):
    async with replay(made) as s:
        await s.pause_at("100")
        await s.press("tab", "left")
        assert s.replay.focused is s.chart("rss")
        assert s.at == 100
        assert s.chart("rss").plot.cursor is not None
        await s.press("full_stop", "n", "space")
        assert s.at == 125
        assert s.playing
        await s.click_track(5)
        assert s.replay.focused is None  # the arrow keys move the play head again
        before = s.at
        await s.press("right")
        assert s.at == pytest.approx(before + 1)


# What a replay refuses.


async def test_lanes_can_be_selected_but_not_changed_with_a_single_notification(made):
    async with replay(made) as s:
        await s.pause_at("97.5")
        card, toasts = s.card("threads"), lambda: s.app.screen.query("Toast")
        before = s.text(card)
        assert "+10k" not in before
        assert "┃" in before  # instead of the monitor's knob
        await s.press("2")
        assert s.replay.side.selected == 1
        await s.tap("threads", card)
        assert s.replay.side.selected == 0
        assert not toasts()
        await s.mouse_down(card, offset=(2, 1))
        await s.mouse_up(card, offset=(30, 1))
        assert (s.text(card), s.replay.focused) == (before, None)
        await s.tap("● on", card)
        await s.sees(REFUSAL)
        await s.click(s.card("pool"), 5, 1)  # the line of the target
        assert s.replay.side.selected == 1
        await s.press("t", "g", "w", "plus", "minus", "enter", "0", "f", "u")
        await s.tap("refill", s.replay.query_one("CommonPanel"))
        assert len(toasts()) == 1
        assert s.text(card).replace("▌", "").split() == before.replace("▌", "").split()
        assert s.app.screen is s.replay
        await s.click_track(0)  # the notification does not cover the line
        assert s.at == 0


async def test_help_and_palette_list_the_commands_of_a_replay_and_q_quits(made):
    async with replay(made) as s:
        titles = {command.title for command in s.app.get_system_commands(s.replay)}
        assert {"Play or pause", "Jump", "End", "Logarithmic axis", "Help"} <= titles
        assert not {"Pause charts", "Stop all", "Experiments"} & titles
        await s.press("question_mark")
        await s.sees("playing a recording", "one second back", "play slower or faster")
        await s.press("escape")
        await s.press_last("q")


# Incomplete or hostile recordings.


async def test_a_truncated_recording_is_played_and_marked_as_cut_off(tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"".join(made_lines(20, lanes=2, cut=True))[:-30])
    async with replay(path, (80, 24)) as s:
        assert "cut off after 00:20.0, 399 samples" in s.lines()[0]
        await s.press("end")
        assert 19.9 <= s.at <= 20


async def test_control_characters_of_a_recording_are_replaced(tmp_path):
    path = tmp_path / "hostile.jsonl"
    lines = list(made_lines(10, lanes=2))
    lines.insert(-1, encode(EventLine(9.0, "threads", "\x1b[2J gone \x9b2J")))
    lines.insert(-1, encode(MarkLine(9.5, "", "note", "\x1b]0;hostile\x07")))
    path.write_bytes(b"".join(lines).replace(b'"name":"pool"', b'"name":"\\u001b[2J"'))
    async with replay(path) as s:
        await s.press("end")
        await s.sees("\ufffd[2J gone \ufffd2J", "\ufffd]0;hostile\ufffd")
        assert not {"\x1b", "\x9b"} & set(s.app.export_screenshot())


async def test_a_recording_without_samples_can_be_played(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"".join(made_lines(0, lanes=2)))
    async with replay(path) as s:
        await s.press("end", "comma", "full_stop", "n", "space", "right_square_bracket")
        await s.advance(1)
        await s.click_track(10)
        assert s.at == 0
        await s.sees("00:00.0 / 00:00.0", within=s.transport)


# The command.


def test_a_file_that_cannot_be_played_is_a_one_line_error(made, tmp_path, monkeypatch):
    assert f'use "concwatch export {made}"' in refused("replay", made)
    monkeypatch.setattr("concwatch.commands.basics.display.why_no_screen", lambda alternative: None)
    (tmp_path / "words.txt").write_text("to be or not to be\n")
    for name, problem in (
        ("none.jsonl", "does not exist"),
        (".", "is a folder"),
        ("words.txt", "not a recording"),
    ):
        assert problem in refused("replay", tmp_path / name)


# The parts.


def test_moments_are_formatted_as_wide_as_the_longest():
    assert format_moment(83.456, 300) == "01:23.4"
    assert format_moment(0.7999999999, 300) == "00:00.8"
    assert {len(format_moment(moment, 7200)) for moment in (0, 59.9, 3599, 3600, 7200)} == {9}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1:23", 83), ("1:02:03.5", 3723.5), ("83.5s", 83.5), ("12", 12), ("2 min", 120), (" 25 % ", 1000)],
)
def test_parse_moment(text, seconds):
    assert parse_moment(text, 4000) == seconds


@pytest.mark.parametrize("text", ["", "1:60", "1:60:00", "::", "%", "1e3", "nan", "a:b", "1:2:3:4"])
def test_parse_moment_refuses_invalid_text(text):
    with pytest.raises(ValueError, match="is not a time; expected one such as"):
        parse_moment(text, 4000)


def test_the_line_shows_progress_and_marks():
    assert str(TransportLine(11, 0.0)) == "●──────────"
    assert str(TransportLine(11, 0.5)) == "━━━━━●─────"
    assert str(TransportLine(11, 1.0)) == "━━━━━━━━━━●"
    marks = (
        TransportMark(0.2, "#ff0000"),
        TransportMark(0.5, "#00ff00"),
        TransportMark(0.8, "#0000ff"),
        TransportMark(1.0, "#ffffff", True),
    )
    assert str(TransportLine(11, 0.5, marks)) == "━━┿━━●──┼─◆"
    assert [str(TransportLine(width, 0.5, marks)) for width in (0, 1)] == ["", "●"]
    both = (TransportMark(0.5, "#111111", True), TransportMark(0.5, "#222222"))
    assert str(TransportLine(11, 0.0, both)) == "●────◆─────", "a note hides a command"


@pytest.mark.parametrize("width", [1, 2, 17, 80])
def test_each_cell_of_the_line_maps_to_its_moment_and_back(width):
    assert [cell_of(share_at(cell, width), width) for cell in range(width)] == list(range(width))
