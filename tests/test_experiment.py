"""An experiment's file: how it is read, what is refused, and which cells come of it."""

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.experiments.experiment import entries
from concwatch.experiments.loading import SHIPPED, decode, load, shipped, sizes_problem
from concwatch.experiments.readings import READINGS, TRACED, actions_of
from concwatch.measure.units import SCALES

HEAD = """
name = "mine"
title = "Mine"
about = "One."
method = "Two."
"""
TABLE = """
[[table]]
title = "T"
reading = "peak_rss"
unit = "MB"
sizes = [1, 10]
"""
SERIES = """
[[table.series]]
engine = "asyncio"
"""
GOOD = HEAD + TABLE + SERIES


def read(text):
    return decode(textwrap.dedent(text).encode(), "mine.toml")


def complaint(text):
    """Return what is said of a wrong file, without the file's name in front."""
    with pytest.raises(ValueError, match=r"^mine\.toml: ") as caught:
        read(text)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message.removeprefix("mine.toml: ")


def changed(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


# What a file may say.


def test_the_shortest_file_has_a_default_for_all_it_does_not_say():
    experiment = read(GOOD)
    assert experiment.source is None
    (table,) = experiment.table
    (series,) = table.series
    assert (table.note, table.counted, table.compare) == ("", "tasks", None)
    assert (series.name, series.published, series.optional) == ("asyncio", {}, False)
    cells = [entry.cell for entry in entries(experiment)]
    assert [cell.size for cell in cells] == [1, 10]
    cell = cells[0]
    assert (cell.action, cell.workload, cell.trace, cell.gc) == ("burst", "sleep:10", False, "default")
    assert (cell.threads, cell.stack, cell.chunks, cell.older) == (None, None, 1, 0)
    assert (cell.read_after, cell.seconds, cell.repeats) == (None, 1.0, 3)


def test_published_sizes_are_numbers_however_toml_takes_them():
    text = GOOD + "published = { 1 = 2.5, 10 = 30 }\n"
    assert read(text).table[0].series[0].published == {1: 2.5, 10: 30.0}
    text = GOOD + '[table.series.published]\n"1" = 2.5\n10 = 30\n'
    assert read(text).table[0].series[0].published == {1: 2.5, 10: 30.0}


def test_what_a_source_does_not_state_says_so():
    source = read(GOOD + '[source]\narticle = "A"\n').source
    assert (source.article, source.site) == ("A", "")
    assert (source.author, source.year, source.machine, source.version) == (
        "not stated",
        None,
        "not stated",
        "not stated",
    )


@pytest.mark.parametrize("reading", READINGS)
def test_every_reading_can_be_asked_for_in_every_unit_of_its_kind(reading):
    row = READINGS[reading]
    trace = "trace = true\nread_after = 0.5\n" if reading in TRACED else ""
    for unit, (kind, factor) in SCALES.items():
        text = (
            changed("peak_rss", reading).replace('"MB"', f'"{unit}"')
            + f'action = "{actions_of(row)[0]}"\n{trace}'
        )
        if kind is row.unit:
            assert read(text).table[0].unit == unit
            assert factor > 0
        else:
            assert re.search(f'key "unit": "{unit}": expected one of [^ ]', complaint(text))


# What is refused.


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Keys and types.
        ('title = "Mine"', 'titel = "Mine"', 'unknown key "titel": expected one of name, title, '),
        ('title = "Mine"', 'titel = "Mine"', 'did you mean "title"?'),
        ("sizes =", "size =", 'unknown key "table[0].size": expected one of '),
        ("sizes =", "size =", 'did you mean "sizes"?'),
        ("engine =", "engin =", 'unknown key "table[0].series[0].engin": expected one of '),
        ("engine =", "engin =", 'did you mean "engine"?'),
        ('title = "Mine"\n', "", 'key "title" is missing'),
        ('unit = "MB"\n', "", 'key "table[0].unit" is missing'),
        ('title = "Mine"', "title = 3", 'key "title": expected text, got a whole number'),
        ("[1, 10]", "10", 'key "table[0].sizes": expected a list, got a whole number'),
        ("[1, 10]", '[1, "10"]', 'key "table[0].sizes[1]": expected a whole number, got text'),
        ("[1, 10]", "[1, 10.5]", 'key "table[0].sizes[1]": expected a whole number, got a number'),
        (
            SERIES,
            SERIES + "trace = 1\n",
            'key "table[0].series[0].trace": expected true or false, got a whole number',
        ),
        (SERIES, SERIES + 'action = "rest"\n', 'action": "rest": expected one of burst, hold'),
        (SERIES, SERIES + 'gc = "freezed"\n', 'expected one of default, frozen, off; did you mean "frozen"?'),
        (SERIES, SERIES + 'gc = "on"\n', 'gc": "on": expected one of default, frozen, off'),
        (SERIES, "series = 3\n", 'key "table[0].series": expected a list, got a whole number'),
        (SERIES, "", 'key "table[0].series" is missing'),
        (SERIES, "series = []\n", 'table "T": key "series": expected one at least'),
        (
            SERIES,
            SERIES + '[source]\narticle = "A"\nyear = "2023"\n',
            'key "source.year": expected a whole number, got text',
        ),
        (
            SERIES,
            SERIES + '[source]\nautor = "A"\n',
            'unknown key "source.autor": expected one of article, author',
        ),
        (SERIES, SERIES + "[source]\nyear = 2023\n", 'key "source.article" is missing'),
        (
            'unit = "MB"',
            'unit = "MB"\ncompare = { this = "asyncio" }',
            'key "table[0].compare.that" is missing',
        ),
        # Not TOML.
        ('title = "Mine"', 'title = "Mine', "not TOML: "),
        ('title = "Mine"', "title = Mine", "not TOML: "),
        ('title = "Mine"', 'title = "Mine"\ntitle = "Yours"', "not TOML: "),
        ('title = "Mine"', "title = " + "[" * 10_000, "not TOML: "),
        ("[1, 10]", f"[{'1' * 5_000}]", "not TOML: "),
        ('"T"', '"""\nT\n"""\nrepeats = 0', 'table "T ", series "asyncio": key "repeats": 0'),
        # Names.
        (
            '"mine"',
            '"My experiment"',
            'key "name": "My experiment": expected small letters, digits and hyphens',
        ),
        ('"asyncio"', '"asynci"', 'table "T", series "asynci": key "engine": unknown engine "asynci"'),
        ('"asyncio"', '"asynci"', 'did you mean "asyncio"?'),
        (
            SERIES,
            SERIES + 'workload = "slep:3"\n',
            'series "asyncio": key "workload": unknown workload "slep:3"',
        ),
        (SERIES, SERIES + 'workload = "sleep:x"\n', 'key "workload": workload "sleep:x": expected seconds'),
        (
            '"peak_rss"',
            '"peak_rs"',
            'table "T": key "reading": unknown "peak_rs": expected one of rss_per_task, ',
        ),
        ('"peak_rss"', '"peak_rs"', 'did you mean "peak_rss"?'),
        ('"MB"', '"s"', 'table "T": key "unit": "s": expected one of B, KiB, MiB, GiB, kB, MB, GB'),
        ('"MB"', '"megabytes"', 'table "T": key "unit": "megabytes": expected one of B, KiB'),
        (SERIES, SERIES * 2, 'key "label": two series are called "asyncio": expected different labels'),
        (
            'unit = "MB"',
            'unit = "MB"\ncompare = { this = "asyncio", that = "threads" }',
            'table "T": key "compare": unknown series "threads": expected one of asyncio',
        ),
        # Sizes.
        ("[1, 10]", "[10, 1]", 'key "sizes": 1 after 10: expected ascending sizes'),
        ("[1, 10]", "[1, 1]", 'key "sizes": 1 after 1: expected ascending sizes'),
        ("[1, 10]", "[0, 10]", 'key "sizes": 0: expected sizes from 1 to 1,000,000,000'),
        ("[1, 10]", "[-1, 10]", 'key "sizes": -1: expected sizes from 1'),
        ("[1, 10]", "[1, 1000000001]", 'key "sizes": 1000000001: expected sizes from 1 to 1,000,000,000'),
        ("[1, 10]", "[]", 'key "sizes": expected one number of tasks at least'),
        ("sizes = [1, 10]\n", "", 'series "asyncio": key "sizes": expected one number of tasks at least'),
        (SERIES, SERIES + "quick = [10, 1]\n", 'key "quick": 1 after 10: expected ascending sizes'),
        # Other numbers.
        (SERIES, SERIES + "repeats = 0\n", 'key "repeats": 0: expected a number from 1 to 100'),
        (SERIES, SERIES + "threads = 0\n", 'key "threads": 0: expected a number from 1 to 100,000'),
        (SERIES, SERIES + "stack = -1\n", 'key "stack": -1: expected a number from 0 to '),
        (SERIES, SERIES + "chunks = 0\n", 'key "chunks": 0: expected a number from 1 to 1,000'),
        (SERIES, SERIES + "chunks = 1001\n", 'key "chunks": 1001: expected a number from 1 to 1,000'),
        (SERIES, SERIES + "read_after = -0.5\n", 'key "read_after": -0.5: expected a number from 0 to 3,600'),
        (SERIES, SERIES + "seconds = nan\n", 'key "seconds": nan: expected a number from 0 to 3,600'),
        (
            SERIES,
            SERIES + "published = { 1 = -5 }\n",
            'key "published": 1 = -5.0: expected a size and a figure',
        ),
        (
            SERIES,
            SERIES + "published = { 1 = 0 }\n",
            'key "published": 1 = 0.0: expected a size and a figure',
        ),
        (
            SERIES,
            SERIES + "published = { 0 = 5 }\n",
            'key "published": 0 = 5.0: expected a size and a figure',
        ),
        (
            SERIES,
            SERIES + "published = { 1 = inf }\n",
            'key "published": 1 = inf: expected a size and a figure',
        ),
        (
            SERIES,
            SERIES + "published = { one = 5 }\n",
            'key "table[0].series[0].published": expected a whole number, got text',
        ),
        (SERIES, SERIES + 'published = { 1 = "5" }\n', "expected a number, got text"),
        (SERIES, SERIES + "environment = { A = 1 }\n", "expected text, got a whole number"),
        (
            SERIES,
            SERIES + 'environment = { "A=B" = "" }\n',
            'key "environment": "A=B": expected a variable\'s',
        ),
        ('"asyncio"', '"gevent@3.14"', 'key "engine": unknown engine "gevent@3.14"'),
        ('"asyncio"', '"asincio@3.14"', 'key "engine": unknown engine "asincio@3.14"'),
        # What does not go together.
        ('"peak_rss"', '"rss"', 'key "action": "rss" is read of hold alone'),
        (
            '"peak_rss"',
            '"create_rate_cpu"\naction = "hold"',
            'table "T": key "unit": "MB": expected one of tasks/s',
        ),
        ('"peak_rss"', '"tracer"\naction = "hold"', 'key "trace": "tracer" needs trace = true'),
        (
            '"peak_rss"',
            '"traced_added"\ntrace = true',
            'key "read_after": "traced_added" of a burst needs the seconds',
        ),
    ],
)
def test_a_wrong_file_is_one_line_with_the_key_and_what_was_expected(old, new, expected):
    assert expected in complaint(changed(old, new))


@given(st.text(max_size=200))
def test_any_text_is_an_experiment_or_one_line_of_complaint(text):
    complaint(text)


parts = st.sampled_from(
    [
        "",
        "=",
        "[",
        "]]",
        '"',
        "\n",
        "[[table]]",
        "[table.series]",
        "table = 3",
        "-1",
        "1e400",
        "nan",
        "{ 1 = 2 }",
        "true",
    ]
)


@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.one_of(parts, st.text(max_size=5)))
def test_a_good_file_with_a_hole_or_a_patch_is_an_experiment_or_one_line_of_complaint(at, length, patch):
    refusal = None
    try:
        read(GOOD[:at] + patch + GOOD[at + length :])
    except ValueError as said:
        refusal = str(said)
    assert refusal is None or (refusal.startswith("mine.toml: ") and len(refusal.splitlines()) == 1)


def test_a_rate_is_read_of_a_burst_alone():
    text = changed('"peak_rss"', '"create_rate_cpu"\naction = "hold"').replace('"MB"', '"tasks/s"')
    assert 'key "action": "create_rate_cpu" is read of burst alone' in complaint(text)


def test_no_table_is_refused():
    assert complaint(HEAD) == 'key "table" is missing'
    assert complaint(HEAD + "table = []\n") == 'key "table": expected one at least'


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match=r"^mine\.toml: not TOML: "):
        decode(b"\xff", "mine.toml")


def test_an_optional_series_may_have_any_engine():
    assert 'key "engine": unknown engine "smalltalk"' in complaint(changed('"asyncio"', '"smalltalk"'))
    experiment = read(changed('"asyncio"', '"smalltalk"\noptional = true\npublished = { 10 = 28.6 }'))
    assert [(entry.size, entry.cell, entry.published) for entry in entries(experiment)] == [
        (1, None, None),
        (10, None, 28.6),
    ]


def test_an_optional_series_is_measured_as_soon_as_there_is_its_engine():
    experiment = read(changed('"asyncio"', '"asyncio"\noptional = true'))
    assert all(entry.cell is not None for entry in entries(experiment))


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ((), None),
        ((1,), None),
        ((1, 2, 1_000_000_000), None),
        ((2, 2), "2 after 2: expected ascending sizes"),
        ((0,), "0: expected sizes from 1 to 1,000,000,000"),
    ],
)
def test_sizes_ascend_from_one(sizes, problem):
    assert sizes_problem(sizes) == problem


# Finding a file.


def test_a_name_is_that_of_a_shipped_file_and_anything_else_a_path(tmp_path):
    assert load("batching").name == "batching"
    own = tmp_path / "own.toml"
    own.write_text(GOOD)
    assert load(str(own)).name == "mine"


def test_a_path_without_a_folder_or_without_an_ending_is_found_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(GOOD)
    (tmp_path / "own").write_text(GOOD)
    assert load("own.toml").name == "mine"
    assert load("./own").name == "mine"


def test_an_unknown_name_is_told_with_all_names_and_the_nearest():
    with pytest.raises(ValueError, match=r'^unknown experiment "batchin": expected one of ') as caught:
        load("batchin")
    message = str(caught.value)
    assert all(path.stem in message for path in shipped())
    assert message.endswith('or the path of a .toml file; did you mean "batching"?')


def test_a_file_that_cannot_be_read_is_told_with_its_path(tmp_path):
    with pytest.raises(ValueError, match=r"none\.toml: No such file or directory: expected the file of an "):
        load(str(tmp_path / "none.toml"))
    with pytest.raises(ValueError, match=r"Is a directory: expected the file of an experiment"):
        load(f"{tmp_path}/")


def test_what_is_wrong_with_a_file_of_ones_own_is_told_with_its_name(tmp_path):
    (tmp_path / "own.toml").write_text(changed("[1, 10]", "[10, 1]"))
    with pytest.raises(ValueError, match=r'^own\.toml: table "T", series "asyncio": key "sizes": 1 after 10'):
        load(str(tmp_path / "own.toml"))


def test_the_shipped_files_are_in_their_folder():
    assert {path.parent for path in shipped()} == {SHIPPED}
    assert shipped() == sorted(shipped())


# The lines of the result.


def cells(text, **choice):
    return [entry.cell for entry in entries(read(text), **choice)]


def test_a_series_goes_over_its_table_and_its_table_over_what_is_usual():
    text = (
        HEAD
        + TABLE
        + 'workload = "hold"\naction = "hold"\ngc = "frozen"\nseconds = 5\nrepeats = 2\nthreads = 4\n'
        + SERIES
        + SERIES
        + 'label = "own"\nworkload = "nop"\naction = "burst"\ngc = "off"\nseconds = 0\nrepeats = 1\n'
        + "threads = 8\nstack = 65536\nchunks = 5\nread_after = 0\ntrace = true\nsizes = [7]\n"
    )
    from_table, _, own = cells(text)
    assert (from_table.workload, from_table.action, from_table.gc) == ("hold", "hold", "frozen")
    assert (from_table.seconds, from_table.repeats, from_table.threads) == (5, 2, 4)
    assert (from_table.trace, from_table.stack, from_table.chunks) == (False, None, 1)
    assert (own.workload, own.action, own.gc, own.size) == ("nop", "burst", "off", 7)
    assert (own.seconds, own.repeats, own.threads, own.stack) == (0, 1, 8, 65_536)
    assert (own.chunks, own.read_after, own.trace) == (5, 0, True)


def test_variables_are_those_of_the_series_or_else_of_its_table():
    own = SERIES + 'label = "own"\nenvironment = { B = "2", A = "" }\n'
    from_table, _, of_its_own, _ = cells(HEAD + TABLE + 'environment = { A = "1" }\n' + SERIES + own)
    assert from_table.environment == (("A", "1"),)
    assert of_its_own.environment == (("A", ""), ("B", "2"))


def test_an_engine_may_name_its_version_which_need_not_be_here():
    text = changed('"asyncio"', '"java-virtual@99"') + SERIES.replace("asyncio", "asyncio@9.9")
    java, _, python, _ = [entry.cell for entry in entries(read(text))]
    assert (java.engine, python.engine) == ("java-virtual@99", "asyncio@9.9")
    assert java.row().name == "java-virtual"


def test_a_series_can_switch_off_what_its_table_switches_on():
    text = HEAD + TABLE + "trace = true\nolder = true\n" + SERIES + "trace = false\nolder = false\n"
    assert all(not cell.trace and not cell.older for cell in cells(text))


def test_lines_come_in_the_order_of_the_file_with_what_was_published():
    text = (
        HEAD
        + TABLE
        + SERIES
        + "published = { 10 = 5 }\n"
        + '[[table.series]]\nengine = "threads"\nsizes = [2]\n'
        + TABLE.replace('"T"', '"U"')
        + SERIES
    )
    found = [(e.table.title, e.series.name, e.size, e.published) for e in entries(read(text))]
    assert found == [
        ("T", "asyncio", 1, None),
        ("T", "asyncio", 10, 5.0),
        ("T", "threads", 2, None),
        ("U", "asyncio", 1, None),
        ("U", "asyncio", 10, None),
    ]


def test_a_quick_look_takes_the_smallest_size_unless_the_file_says_which():
    assert [cell.size for cell in cells(GOOD, quick=True)] == [1]
    assert [cell.size for cell in cells(changed(SERIES, "quick = [10]\n" + SERIES), quick=True)] == [10]
    own = changed(SERIES, "quick = [10]\n" + SERIES + "quick = [1, 10]\n")
    assert [cell.size for cell in cells(own, quick=True)] == [1, 10]
    assert cells(GOOD + "quick = []\n", quick=True) == []
    assert len(cells(GOOD + "quick = []\n")) == 2


def test_sizes_that_a_person_asks_for_take_the_place_of_all_others():
    text = GOOD + "published = { 10 = 5 }\n"
    for quick in (False, True):
        found = entries(read(text), quick=quick, sizes=(5, 10))
        assert [(entry.size, entry.cell.size, entry.published) for entry in found] == [
            (5, 5, None),
            (10, 10, 5.0),
        ]


def test_older_tasks_are_as_many_as_all_smaller_sizes_of_the_file():
    text = changed("[1, 10]", "[100, 200, 300]\nolder = true")
    assert [cell.older for cell in cells(text)] == [0, 100, 300]
    assert [cell.older for cell in cells(text, quick=True)] == [0]
    assert [cell.older for cell in cells(text, sizes=(250, 300))] == [300, 300]


def test_a_million_is_run_once_unless_the_file_says_how_often():
    text = changed("[1, 10]", "[999999, 1000000, 2000000]")
    assert [cell.repeats for cell in cells(text)] == [3, 1, 1]
    assert [cell.repeats for cell in cells(text + "repeats = 2\n")] == [2, 2, 2]


def test_two_tables_that_read_the_same_run_share_its_cell():
    text = GOOD + TABLE.replace('"T"', '"U"').replace("peak_rss", "burst_seconds").replace("MB", "s") + SERIES
    first, second = cells(text)[:2], cells(text)[2:]
    assert first == second
    assert len({*first, *second}) == 2
    other = cells(text + 'gc = "off"\n')
    assert len(set(other)) == 4


def test_a_label_alone_makes_no_other_cell():
    text = GOOD + SERIES + 'label = "again"\n'
    assert len(cells(text)) == 4
    assert len(set(cells(text))) == 2
