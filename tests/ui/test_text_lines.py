"""Widgets that draw lines: text, tables, the event log."""

from functools import partial
from operator import itemgetter

import pytest
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from concwatch.demos.screen_strips import screen_strips
from concwatch.monitor.verdicts.events import Event
from concwatch.ui.widgets.tables.cost_table import CostTable
from concwatch.ui.widgets.tables.event_view import EventLines, EventView
from concwatch.ui.widgets.text.kept_lines import KeptLines
from concwatch.ui.widgets.text.table import Column, columns_for, headings
from concwatch.ui.widgets.text.text_lines import LineWriter, TextLines, end_of
from tests.screen import pilot_of, showing, stage

BASE = Style.parse("#ffffff on #000000")


class Numbers(TextLines):
    """Shows one number in each line."""

    DEFAULT_CSS = "Numbers { height: auto; }"
    numbers = (1, 2, 3)

    def rows(self, width):
        return [Content(f"{number}") for number in self.numbers]


@pytest.fixture
def written(monkeypatch):
    """Return the texts of all lines drawn."""
    texts, write = [], LineWriter.write
    monkeypatch.setattr(
        LineWriter, "write", lambda self, line, width: texts.append(line.plain) or write(self, line, width)
    )
    return texts


def test_a_line_has_exactly_its_width_and_combines_styles():
    styled = Content("abc").stylize("bold", 0, 2).stylize("#ff0000", 1, 3)
    for line, width, text in (
        (Content("ab"), 4, "ab  "),
        (Content("abcdef"), 4, "abc…"),
        (Content.assemble("a", ("日本", "bold")), 4, "a日…"),
        (Content.assemble("a", ("b", "bold"), "c"), 3, "abc"),
        (styled, 4, "abc "),
        (Content("abc"), 0, ""),
    ):
        strip = LineWriter(BASE).write(line, width)
        assert (strip.text, strip.cell_length) == (text, width)
    parts = [
        (text, bool(style.bold), style.color.name) for text, style, _ in LineWriter(BASE).write(styled, 4)
    ]
    assert parts[:2] == [("a", True, "#ffffff"), ("b", True, "#ff0000")]
    assert parts[2:] == [("c", False, "#ff0000"), (" ", False, "#ffffff")]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("tmp/leaky_service.py:17", 23, "tmp/leaky_service.py:17"),
        ("tmp/leaky_service.py:17", 22, "…/leaky_service.py:17"),
        ("tmp/leaky_service.py:17", 14, "…service.py:17"),
        ("leaky_service.py 1008", 16, "…service.py 1008"),
        ("日本/日本語.py:17", 14, "…/日本語.py:17"),
        ("日本語.py:17", 11, "…本語.py:17"),
        ("a.py:17", 0, "…"),
    ],
)
def test_the_end_of_a_place_is_kept(text, width, shown):
    assert end_of(text, width) == shown


async def test_only_changed_lines_are_drawn_again(written):
    numbers = Numbers()
    async with showing(numbers).run_test() as pilot:
        pilot = pilot_of(pilot)
        await pilot.pause()
        assert written == ["1", "2", "3"]
        written.clear()
        numbers.numbers = (1, 5, 3)
        numbers.update_lines()
        numbers.update_lines()
        await pilot.pause()
        assert written == ["5"]
        numbers.numbers = (4, 5, 3, 6)
        numbers.update_lines()
        await pilot.pause()
        assert numbers.size.height == 4
        written.clear()
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert written == ["4", "5", "3", "6"]


# Tables.

COLUMNS = (
    Column("live", 6, lambda row: f"{row[0]}", itemgetter(0), 1),
    Column("failed", 6, lambda row: f"{row[1]}", itemgetter(1), 0, True),
    Column("RSS", 9, lambda row: f"{row[2]} B*", itemgetter(2), marks=1),
    Column("fits", 10, lambda row: "many", itemgetter(2), left=True),
)


@pytest.mark.parametrize(
    ("room", "rows", "titles"),
    [
        (99, [(1, 2, 3)], ["live", "failed", "RSS", "fits"]),
        (99, [(1, 0, 3)], ["live", "RSS", "fits"]),
        (31, [(1, 0, 3)], ["RSS", "fits"]),
        (5, [(1, 0, 3)], ["RSS", "fits"]),
    ],
)
def test_columns_without_room_and_optional_ones_without_values_are_omitted(room, rows, titles):
    assert [column.title for column in columns_for(COLUMNS, room, rows)] == titles


@pytest.mark.parametrize("sorted_by", ["", "live", "fits"])
def test_a_heading_is_aligned_with_its_values_and_sorts_on_click(sorted_by):
    columns = columns_for(COLUMNS, 99)
    clicked = []
    cells = headings(columns, sorted_by, clicked.append)
    text = "".join(cell.draw(False).plain for cell in cells)
    assert text.replace("▾", " ").split() == ["live", "RSS", "fits"]
    assert len(text) == sum(column.width for column in columns) == 8 + 12 + 12
    assert text.index("live") + len("live") == 8
    assert text.index("fits") == 8 + 12 + 2
    for cell in cells:
        cell.action()
    assert clicked == [column.title for column in columns]
    assert ("▾ " + sorted_by in text) is bool(sorted_by)


async def test_clicks_on_a_heading_sort_the_cost_table_and_restore_its_order():
    async with stage() as s:
        await s.switch_on("threads", tasks=10)
        await s.switch_on("uvloop", tasks=100)
        await s.run(1)
        table = s.monitor.query_one(CostTable)
        for sign, first in (("▾", "uvloop"), ("", "threads")):
            await s.tap("live", within=table)
            heading, row, *_ = (line.plain for line in table.rows(112))
            assert ("▾ live" in heading, row.split()[0]) == (bool(sign), first)


# The event log.


def event(number, text):
    """Return an event of the lane a."""
    return Event(number, 1.0, "a", text)


async def test_events_wrap_keep_the_lines_of_a_traceback_and_can_be_selected(written):
    view = EventView()
    async with showing(view).run_test(size=(40, 20)) as pilot:
        pilot, lines = pilot_of(pilot), view.query_one(EventLines)
        view.show([event(1, "word " * 12), event(2, "failed\n  File\nValueError")], {})
        await pilot.pause()
        assert lines.size.height == 6
        text = [lines.render_line(y).text.rstrip() for y in range(6)]
        assert text[0].startswith("00:00:01  a         word")
        assert text[3:] == ["00:00:01  a         failed", "  File", "ValueError"]
        view.show([event(1, "one"), event(2, "two words")], {})
        await pilot.pause()
        await pilot.mouse_down(lines, offset=(20, 0))
        await pilot.hover(lines, offset=(22, 1))
        await pilot.mouse_up(lines, offset=(22, 1))
        await pilot.pause()
        assert pilot.app.screen.get_selected_text() == "one\n00:00:01  a         two"
        assert len({style.bgcolor for _, style, _ in lines.render_line(1)}) == 2
        written.clear()
        view.show([event(number, f"event {number}") for number in range(100)], {})
        await pilot.pause()
        assert len(written) < 20, "only visible lines are drawn"
        assert "event 99" in written[-1]


async def test_an_event_view_pads_and_trims_to_its_number_of_rows():
    view = EventView(9)  # 6 lines high, 4 of them for rows
    async with showing(view).run_test(size=(60, 20)) as pilot:
        for count in (0, 3, 9, 30):
            view.show([event(number, f"event {number}") for number in range(count)], {})
            await pilot_of(pilot).pause()
            lines = view.query_one(EventLines)
            rows = [lines.render_line(y).text.strip() for y in range(lines.virtual_size.height)]
            newest = [f"00:00:01  a         event {number}" for number in range(count)][-9:]
            newest = newest or ["events appear here"]
            visible = newest + [""] * (4 - len(newest))
            assert rows == [""] * (9 - len(visible)) + visible


# Kept lines.


async def test_kept_lines_are_those_that_textual_draws_whatever_changes():
    async with stage((120, 40)) as s:
        await s.switch_on("asyncio", "threads", tasks=2_000)
        drawn = 0
        for change in (
            lambda: s.run(0.7),
            lambda: s.press("3", "plus"),
            lambda: s.run(1.3),
            lambda: s.press("left_square_bracket", "l", "tab"),
            lambda: s.run(0.4),
            lambda: s.resize(160, 45),
            lambda: s.run(0.6),
        ):
            await change()
            await s.settle()
            for widget in s.monitor.query(KeptLines):
                if widget.is_on_screen and not isinstance(widget, EventView):
                    whole = widget.outer_size.region
                    kept, fresh = (
                        [list(strip.simplify()) for strip in draw(whole)]
                        for draw in (widget.render_lines, partial(Widget.render_lines, widget))
                    )
                    assert kept == fresh, widget
                    drawn += 1
        assert drawn > 6 * 15
        assert {strip.cell_length for strip in screen_strips(s.app)} == {s.app.size.width}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("10,000 tasks live after 763 ms (1,000 a second)", "10,000 tasks live after 763 ms"),
        ("poll (app.py:10) grows by 119 a minute; 31 wait", "poll (app.py:10) grows by 119 a"),
        ("poll (app.py:10) grows", "poll (app.py:10) grows"),
    ],
)
async def test_an_event_in_a_low_view_loses_a_parenthesis_only_at_its_end(text, row):
    view = EventView()
    async with showing(view).run_test(size=(52, 20)):
        view.place(1, 2)
        view.show([event(1, text)], {})
        shown = [line.plain.rstrip() for line in view.query_one(EventLines).rows(52)]
        assert shown == [f"00:00:01  a         {row}"]


async def test_the_newest_event_in_a_low_view_is_shown_whole_if_there_are_rows_for_it():
    view = EventView()
    text = "memory grows by 64 MiB a minute: the asyncio.Queue `q` in producer (app.py:36) grows"
    async with showing(view).run_test(size=(52, 20)):
        view.place(3, 2)
        view.show([event(1, text), event(2, text)], {})
        rows = [line.plain.strip() for line in view.query_one(EventLines).rows(52)]
    assert len(rows) == 3, "one row of the older event"
    assert " ".join(rows[1:]) == f"00:00:01  a         {text}"


async def test_the_rows_of_an_event_begin_below_its_text():
    view = EventView()
    text = "memory grows by 64 MiB a minute: the asyncio.Queue `q` in producer (app.py:36) grows"
    async with showing(view).run_test(size=(52, 20)):
        view.place(6, 2)
        view.show([event(1, text)], {})
        lines = view.query_one(EventLines)
        first, *others = [line.plain for line in lines.rows(50)]
        indent = first.index("memory")
        assert indent == 20
        assert all(row.startswith(" " * indent) and row[indent] != " " for row in others)
        assert " ".join(row.strip() for row in (first[indent:], *others)) == text
        narrow = [line.plain for line in lines.rows(30)]
        assert not any(row.startswith(" ") for row in narrow), "no room for an indent"
