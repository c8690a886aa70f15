"""A replay under mouse and keys, on a clock driven by hand; nothing runs, everything is looked up."""

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from textual.content import Content
from textual.events import MouseScrollDown

from concwatch.recordings.format import EventLine, MarkLine, encode
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import FileWriter
from concwatch.ui.play_head import PlayHead, format_moment, parse_moment
from concwatch.ui.renderables.transport_line import Mark, TransportLine, cell_of, share_at
from concwatch.ui.replay_app import ReplayApp
from concwatch.ui.screens.replay import REFUSAL, ReplayScreen
from concwatch.ui.widgets.lane_card import RecordedCard
from concwatch.ui.widgets.transport import Transport
from tests.command_line import refused
from tests.made_recording import MACHINE, made_lines
from tests.screen import Clock, Stage, Workers, running, stage

SECONDS = 300.0
"""How long the made recordings are."""

SIZES = [(120, 40), (80, 24)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording of five minutes of two lanes."""
    path = tmp_path_factory.mktemp("made") / "run-3.jsonl"
    path.write_bytes(b"".join(made_lines(SECONDS, lanes=2)))
    return path


@dataclass
class ReplayStage(Stage):
    """A running replay, and what a test wants to do and to see."""

    @property
    def replay(self):
        """The screen, whatever dialog stands before it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, ReplayScreen))

    @property
    def monitor(self):
        """What stands in the monitor's place."""
        return self.replay

    @property
    def transport(self):
        """The line that is played along."""
        return self.replay.query_one(Transport)

    @property
    def at(self):
        """The moment that is shown, in seconds."""
        return self.replay.snapshot.elapsed

    @property
    def playing(self):
        """Whether the play head moves."""
        return "▶" in self.text(self.transport)

    def card(self, name):
        """The card of one lane."""
        return next(card for card in self.replay.query(RecordedCard) if name in self.text(card))

    async def pass_(self, seconds):
        """Let so much of a person's time pass, and have the screen follow."""
        self.clock.now += seconds
        self.replay.show_snapshot()
        await self.settle()

    async def pause_at(self, moment):
        """Stand at a moment."""
        if self.playing:
            await self.press("space")
        await self.type(str(moment))

    async def type(self, text):
        """Go to a moment by typing it."""
        await self.press("j")
        await self.enter(text)
        await self.press("enter")
        await self.until(lambda: self.app.screen is self.replay, "the dialog is closed")
        await self.settle()

    def track(self):
        """Column of the first cell of the line, and how many cells it has."""
        row = self.lines()[self.transport.region.y]
        start = next(x for x, char in enumerate(row) if char in "━─●┿┼◆")
        return start, self.transport.region.right - 2 - start

    async def click_track(self, cell):
        """Click on a cell of the line."""
        start, _ = self.track()
        assert await self.pilot.click(self.transport, offset=(start + cell - self.transport.region.x, 0))
        await self.settle()


@asynccontextmanager
async def replay(path, size=(120, 40), speed=1.0, pictures=None):
    """Play a recording on a clock driven by hand."""
    clock = Clock()
    more = {} if pictures is None else {"pictures": pictures}
    app = ReplayApp(load(path), path.name, speed, clock=clock, **more)
    async with running(app, size) as pilot:
        found = ReplayStage(app, pilot, Workers(), clock)
        await found.until(lambda: isinstance(app.screen, ReplayScreen) and app.screen.is_mounted, "a replay")
        await found.pass_(0.0)
        yield found


# What is seen.


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_frame_tells_the_recording_and_its_machine_and_any_other_its_own_figures(made, size):
    async with replay(made, size) as s:
        heading = s.lines()[0]
        assert all(text in heading for text in ("replay", "run-3.jsonl", "21 Nov 2026"))
        if size[0] > 80:
            assert f"{MACHINE['python']} · {MACHINE['cores']} cores · 24 GiB" in heading
            assert "monitor 5 % CPU · 41 MiB" in heading
            await s.sees("pool 7 threads")  # as many as there were there, not here
        assert "Hz" not in heading
        await s.sees("1 threads", "2 pool", "● on", "RSS/task", "00:00.0 / 05:00.0", "×1")
        assert s.lines()[-1].strip().startswith("space play")
        assert s.replay.focused is None
        # The same at another moment, which is typed.
        await s.pause_at("1:37.5")
        assert s.at == 97.5
        await s.sees("20,000 live", within=s.card("threads"))
        assert s.row("threads").startswith("threads 20,000 1.27 KiBᵗ")
        await s.sees("20,000 live after 80 ms", within=s.replay.query_one("EventView"))
        await s.sees("01:37.5 / 05:00.0", within=s.transport)
        await s.type("0:02")
        await s.sees("0 live", within=s.card("threads"))
        assert "20,000" not in s.text()


async def test_80_by_24_shows_six_lanes_and_a_chart_and_an_event(tmp_path):
    path = tmp_path / "six.jsonl"
    path.write_bytes(b"".join(made_lines(20)))
    async with replay(path, size=(80, 24)) as s:
        await s.pause_at("0:15")
        await s.sees(*(f"{number} {lane.name}" for number, lane in enumerate(s.replay.snapshot.lanes, 1)))
        await s.sees("0 B└", "now", within=s.chart("rss"))
        assert s.text(s.replay.query_one("EventView")).strip()


class ClockFromZero(Clock):
    """What falls into one column of a chart depends on the clock; that of a recording begins at 0."""

    def __init__(self):
        self.now = 0.0


async def test_everything_is_as_the_monitor_showed_it(tmp_path, monkeypatch):
    """Record a lab behind a monitor, and hold the replay of each moment against what stood there then."""
    monkeypatch.setattr("tests.screen.Clock", ClockFromZero)
    path, seen = tmp_path / "lab.jsonl", []

    def parts(s, screen):
        cards = [" ".join(s.text(card).split()) for card in screen.query("LaneCard")]
        grid, table = screen.query_one("ChartGrid").region, screen.query_one("CostTable").region
        lines = s.lines()
        return {
            "cards": [_without_track(card) for card in cards],
            "charts": [line[grid.x : grid.right] for line in lines[grid.y : grid.bottom]],
            "costs": lines[table.y : table.bottom - 1],
            "panel": s.text(screen.query_one("CommonPanel")),
            # Without its scroll bar, which tells how many rows are kept.
            "events": re.sub(" [▁-█](?= │)", "", s.text(screen.query_one("EventView"))),
        }

    async with stage(size=(120, 40)) as s:
        recorder = make_recorder(path, s.lab)

        async def note_down():
            await s.run(0.1)
            s.monitor.query_one("ChartGrid").redraw()  # else they may be some tenths of a second old
            s.monitor.show_snapshot()
            await s.settle()
            seen.append((s.clock.now, s.monitor.query_one("ChartGrid").window, parts(s, s.monitor)))
            s.clock.now = round(s.clock.now + 0.05, 3)  # what is asked for next is asked for later

        await s.press("t")  # so that no chart is empty: what one says then is the monitor's own
        await s.switch_on("asyncio", tasks=2_000)
        await note_down()
        await s.switch_on("threads", tasks=700)
        await s.run(5)
        await note_down()
        await s.press("g")
        await s.run(20)
        await s.press("right_square_bracket")
        await note_down()
        s.lab.set_target(s.lane("asyncio"), 50_000)
        s.lab.set_workload("hold")
        await s.run(12)
        await note_down()
        s.lab.switch(s.lane("threads"), False)
        await s.run(3)
        await s.press("left_square_bracket", "left_square_bracket")
        await note_down()
        recorder.stop("quit")

    async with replay(path, size=(120, 41)) as s:  # one line more: the one that is played along
        await s.press("space")
        for at, window, expected in reversed(seen):
            s.replay.charts.selected_window, s.replay.charts.growing = window, False
            await s.type(f"{at:.6f}")
            found = parts(s, s.replay)
            for part, text in expected.items():
                assert found[part] == text, f"{part} at {at:g} s"


def _without_track(card):
    """Leave out the slider and the words that move it: those are the monitor's."""
    words = [word for word in card.split() if word not in ("−10k", "+10k")]
    kept = [word for word in words if not set(word) <= set("━╍─●┃┬┯○")]
    return " ".join(kept).replace("drag the slider", "").strip()


# Playing.


async def test_it_plays_from_the_start_pauses_at_the_end_and_begins_anew(made):
    async with replay(made) as s:
        assert s.playing
        await s.pass_(12.34)
        await s.sees("00:12.3", within=s.transport)
        await s.press("space")
        await s.pass_(100)
        assert not s.playing
        assert s.at == pytest.approx(12.34)
        await s.press("p")
        await s.pass_(SECONDS)
        assert not s.playing
        await s.sees("05:00.0 / 05:00.0", within=s.transport)
        await s.press("space")
        await s.pass_(1)
        assert s.at == pytest.approx(1)
        await s.tap("▶", s.transport)
        await s.pass_(5)
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
"""Keys, and where they lead from 1:40."""


async def test_keys_move_the_play_head_a_jump_goes_on_playing_and_a_step_pauses(made):
    async with replay(made) as s:
        await s.press("space")
        for keys, moment in MOVES:
            s.replay.commands.skip(100 - s.at)
            await s.press(*keys.split())
            assert s.at == pytest.approx(moment), keys
        assert not s.playing
        await s.press("space")
        await s.pass_(20)
        await s.press("right")
        await s.pass_(1)
        assert s.at == pytest.approx(22)
        await s.press("full_stop")
        assert not s.playing
        assert s.at == pytest.approx(22.1)


async def test_speed_is_changed_by_key_and_click_between_a_tenth_and_a_hundred(made):
    async with replay(made, speed=3.0) as s:
        await s.sees("×3", within=s.transport)
        await s.press("less_than_sign")
        await s.sees("×2", within=s.transport)
        # While it plays, the way back leads over the mark that was just passed.
        for seconds, moment in ((33.1, 65), (0.1, 30)):
            await s.pass_(seconds)
            await s.press("N")
            assert s.at == moment
        await s.press("home", *["greater_than_sign"] * 9)
        await s.sees("×100", within=s.transport)
        await s.pass_(2)
        assert s.at == pytest.approx(200)
        await s.press("home", *["less_than_sign"] * 9)
        await s.sees("×0.1", within=s.transport)
        await s.pass_(10)
        assert s.at == pytest.approx(1)
        await s.tap("»", s.transport)
        await s.sees("×0.25", within=s.transport)
        await s.tap("«", s.transport)
        await s.sees("×0.1 ", within=s.transport)


@pytest.mark.parametrize("size", SIZES)
async def test_a_click_on_the_line_jumps_both_ends_are_reached_and_a_mark_is_hit_exactly(made, size):
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


async def test_a_drag_moves_the_play_head_holds_it_and_goes_on_where_it_is_dropped(made):
    async with replay(made, speed=10.0) as s:
        await s.pass_(1)
        start, width = s.track()
        left = start - s.transport.region.x
        half = width // 2
        await s.pilot.mouse_down(s.transport, offset=(left + 40, 0))
        await s.pilot.hover(s.transport, offset=(left + half, 0))
        held = s.at
        assert held == pytest.approx(share_at(half, width) * SECONDS, abs=2)
        assert s.playing
        await s.pass_(20)
        assert s.at == held
        await s.pilot.hover("EventView", offset=(left + half + 5, 1))  # anywhere on the screen
        assert s.at > held
        await s.pilot.mouse_up("EventView", offset=(left + half, 1))
        before = s.at
        await s.pass_(1)
        assert s.at == pytest.approx(before + 10)
        await s.press("space")
        await s.pilot.mouse_down(s.transport, offset=(left + 40, 0))
        await s.pilot.mouse_up(s.transport, offset=(left + 40, 0))
        assert not s.playing


async def test_the_mouse_reads_moments_and_marks_on_the_line_and_the_wheel_moves_a_second(tmp_path):
    path = tmp_path / "brackets.jsonl"
    lines = [line.replace(b"look at minute 0", b"[red]x[/] [/]") for line in made_lines(SECONDS, lanes=1)]
    path.write_bytes(b"".join(lines))
    async with replay(path) as s:
        await s.pause_at("100")
        start, width = s.track()
        note = start + cell_of(30 / SECONDS, width) - s.transport.region.x
        await s.pilot.hover(s.transport, offset=(note, 0))
        assert isinstance(s.transport.tooltip, Content), "what is plain text would be read as markup"
        assert s.transport.tooltip.plain == "00:30.0  [red]x[/] [/]"
        await s.pilot.hover(s.transport, offset=(start + width // 2 - s.transport.region.x, 0))
        assert s.transport.tooltip.plain.startswith("02:")
        await s.pilot._post_mouse_events([MouseScrollDown], s.transport, offset=(note, 0), button=0)
        assert s.at == pytest.approx(101)


async def test_a_moment_is_typed_and_what_is_none_says_why(made):
    async with replay(made) as s:
        await s.press("space")
        await s.type("83.5s")
        assert s.at == pytest.approx(83.5)
        await s.press("j")
        for text, why in {
            "6:00": '"6:00" is after the end: expected a moment from 0:00 to 05:00.0',
            "101%": "is after the end",
            "soon": '"soon" is not a moment',
        }.items():
            await s.enter(text)
            await s.press("enter")
            await s.sees(why, within=lambda: s.query("#message"))
        await s.press("escape")
        assert s.app.screen is s.replay
        assert s.at == pytest.approx(83.5)


# The charts.


async def test_the_charts_are_those_of_the_monitor_and_show_nothing_of_what_came_later(made):
    async with replay(made) as s:
        await s.pause_at("290")
        await s.sees("-4m", within=s.chart("rss"))
        await s.press("left_square_bracket", "left_square_bracket")
        await s.sees("-60s", within=s.chart("rss"))
        linear = s.text(s.chart("rss"))
        await s.press("l")
        assert s.text(s.chart("rss")) != linear
        await s.press("z")
        assert len(s.shown_charts()) == 1
        await s.press("c")
        assert s.shown_charts() == ["tracemalloc"]
        await s.press("z", "l")
        await s.type("20")
        before = s.text(s.chart("rss"))
        await s.type("4:50")
        assert s.text(s.chart("rss")) != before
        await s.type("20")
        assert s.text(s.chart("rss")) == before
        start, width = s.track()
        tick = start + cell_of(65 / SECONDS, width) - s.transport.region.x
        dark = s.color(s.transport, tick)
        s.app.theme = "concwatch-light"
        await s.settle()
        assert s.color(s.transport, tick) != dark, "a theme gives the marks their new colours"


async def test_a_focused_chart_has_the_arrows_and_leaves_the_other_keys_to_the_play_head(made):
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
        assert s.replay.focused is None  # the arrows are the play head's again
        before = s.at
        await s.press("right")
        assert s.at == pytest.approx(before + 1)


# What cannot be done here.


async def test_lanes_are_chosen_but_not_switched_or_moved_and_that_is_said_once(made):
    async with replay(made) as s:
        await s.pause_at("97.5")
        card, toasts = s.card("threads"), lambda: s.app.screen.query("Toast")
        before = s.text(card)
        assert "+10k" not in before
        assert "┃" in before  # a stroke, where the monitor has a knob
        await s.press("2")
        assert s.replay.selected == 1
        await s.tap("threads", card)
        assert s.replay.selected == 0
        await s.pilot.mouse_down(card, offset=(2, 1))
        await s.pilot.hover(card, offset=(30, 1))
        await s.pilot.mouse_up(card, offset=(30, 1))
        assert (s.text(card), s.replay.focused) == (before, None)
        assert not toasts()
        await s.tap("● on", card)
        await s.sees(REFUSAL)
        assert await s.pilot.click(s.card("pool"), offset=(5, 1))  # the line with the stroke
        assert s.replay.selected == 1  # a click chooses
        await s.press("t", "g", "w", "plus", "minus", "enter", "0", "f", "u")
        await s.tap("refill", s.replay.query_one("CommonPanel"))
        assert len(toasts()) == 1
        assert s.text(card).replace("▌", "").split() == before.replace("▌", "").split()
        assert s.app.screen is s.replay
        await s.click_track(0)  # the line is not covered
        assert s.at == 0


async def test_help_and_palette_tell_what_can_be_done_and_q_quits(made):
    async with replay(made) as s:
        titles = {command.title for command in s.app.get_system_commands(s.replay)}
        assert {"Play or pause", "Jump", "End", "Logarithmic axis", "Help"} <= titles
        assert not {"Pause charts", "Stop all", "Experiments"} & titles
        await s.press("question_mark")
        await s.sees("playing a recording", "one second back", "play slower or faster")
        await s.press("escape")
        await s.press_last("q")


# Recordings that lack something.


async def test_one_that_was_cut_off_opens_and_says_so(tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b"".join(made_lines(20, lanes=2, cut=True))[:-30])
    async with replay(path, (80, 24)) as s:
        assert "cut off after 00:20.0, 399 samples" in s.lines()[0]
        await s.press("end")
        assert 19.9 <= s.at <= 20


async def test_what_could_command_a_terminal_is_not_passed_on(tmp_path):
    path = tmp_path / "sly.jsonl"
    lines = list(made_lines(10, lanes=2))
    lines.insert(-1, encode(EventLine(9.0, "threads", "\x1b[2J gone \x9b2J")))
    lines.insert(-1, encode(MarkLine(9.5, "", "note", "\x1b]0;sly\x07")))
    path.write_bytes(b"".join(lines).replace(b'"name":"pool"', b'"name":"\\u001b[2J"'))
    async with replay(path) as s:
        await s.press("end")
        await s.sees("\ufffd[2J gone \ufffd2J", "\ufffd]0;sly\ufffd")
        assert not {"\x1b", "\x9b"} & set(s.app.export_screenshot())


async def test_one_without_a_sample_shows_what_there_is(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"".join(made_lines(0, lanes=2)))
    async with replay(path) as s:
        await s.press("end", "comma", "full_stop", "n", "space", "right_square_bracket")
        await s.pass_(1)
        await s.click_track(10)
        assert s.at == 0
        await s.sees("00:00.0 / 00:00.0", within=s.transport)


# The command.


def test_what_cannot_be_played_is_one_line(made, tmp_path, monkeypatch):
    assert f'use "concwatch export {made}"' in refused("replay", made)
    monkeypatch.setattr("concwatch.commands.display.why_no_screen", lambda alternative: None)
    (tmp_path / "words.txt").write_text("to be or not to be\n")
    for name, problem in (
        ("none.jsonl", "No such file"),
        (".", "is a folder"),
        ("words.txt", "not a recording"),
    ):
        assert problem in refused("replay", tmp_path / name)


# The parts.


def test_a_play_head_moves_with_the_time_that_passes():
    head = PlayHead(10.0, 2.0)
    assert (head.at(5.0), head.playing) == (0.0, False)
    head.play(5.0)
    assert head.at(6.0) == 2.0
    head.change_speed(-1, 6.0)
    assert head.at(7.0) == 3.0
    head.jump(9.0, 7.0)
    assert (head.at(7.5), head.playing) == (9.5, True)
    assert (head.at(100.0), head.playing) == (10.0, False)
    head.play(200.0)
    assert head.at(201.0) == 1.0
    head.jump(99.0, 201.0)
    assert head.at(201.0) == 10.0
    head.jump(-99.0, 201.0)
    assert head.at(201.0) == 0.0
    # Held to the end, it goes on where it is dropped.
    head.play(202.0)
    head.hold(10.0, 202.0)
    assert (head.at(205.0), head.playing) == (10.0, True)
    head.drop(4.0, 206.0)
    assert (head.at(207.0), head.playing) == (5.0, True)
    head.pause(207.0)
    head.hold(2.0, 207.0)
    head.drop(3.0, 208.0)
    assert (head.at(209.0), head.playing) == (3.0, False)


def test_moments_are_written_in_as_many_cells_as_the_longest():
    assert format_moment(83.456, 300) == "01:23.4"
    assert format_moment(0.7999999999, 300) == "00:00.8"
    assert {len(format_moment(moment, 7200)) for moment in (0, 59.9, 3599, 3600, 7200)} == {9}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1:23", 83), ("1:02:03.5", 3723.5), ("83.5s", 83.5), ("12", 12), ("2 min", 120), (" 25 % ", 1000)],
)
def test_moments_are_read(text, seconds):
    assert parse_moment(text, 4000) == seconds


@pytest.mark.parametrize("text", ["", "1:60", "1:60:00", "::", "%", "1e3", "nan", "a:b", "1:2:3:4"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match="is not a moment: expected one such as"):
        parse_moment(text, 4000)


def test_the_line_shows_what_was_played_and_its_marks():
    assert str(TransportLine(11, 0.0)) == "●──────────"
    assert str(TransportLine(11, 0.5)) == "━━━━━●─────"
    assert str(TransportLine(11, 1.0)) == "━━━━━━━━━━●"
    marks = (Mark(0.2, "#ff0000"), Mark(0.5, "#00ff00"), Mark(0.8, "#0000ff"), Mark(1.0, "#ffffff", True))
    assert str(TransportLine(11, 0.5, marks)) == "━━┿━━●──┼─◆"
    assert [str(TransportLine(width, 0.5, marks)) for width in (0, 1)] == ["", "●"]
    both = (Mark(0.5, "#111111", True), Mark(0.5, "#222222"))
    assert str(TransportLine(11, 0.0, both)) == "●────◆─────", "a note hides a command"


@pytest.mark.parametrize("width", [1, 2, 17, 80])
def test_every_cell_of_the_line_is_the_moment_that_it_shows(width):
    assert [cell_of(share_at(cell, width), width) for cell in range(width)] == list(range(width))


def make_recorder(path, lab):
    """Begin to record a lab."""
    recorder = Recorder(path, FileWriter(path), "concwatch", [lane.engine for lane in lab.lanes])
    recorder.observe(lab)
    return recorder
