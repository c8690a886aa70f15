"""Experiment files: how they are read and validated, and their cells."""

import pytest

from concwatch.measure.experiments.cell import READINGS
from concwatch.measure.experiments.experiment import Publication, entries
from concwatch.measure.experiments.loading import decode, load, shipped
from concwatch.monitor.metrics.unit import SCALES

HEAD = 'name = "mine"\ntitle = "Mine"\nabout = "One."\nmethod = "Two."\n'
TABLE = '[[table]]\ntitle = "T"\nreading = "peak_rss"\nunit = "MB"\nsizes = [1, 10]\n'
SERIES = '[[table.series]]\nengine = "asyncio"\n'
GOOD = HEAD + TABLE + SERIES


def read(text):
    return decode(text.encode(), "mine.toml")


def problem(text):
    """Return the one-line error of an invalid file, without the file's name."""
    with pytest.raises(ValueError, match=r"^mine\.toml: ") as error:
        read(text)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value).removeprefix("mine.toml: ")


def changed(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def cells(text, **choice):
    return [entry.cell for entry in entries(read(text), **choice)]


# Valid files.


def test_the_shortest_file_uses_defaults():
    experiment = read(GOOD)
    (table,), (series,) = experiment.table, experiment.table[0].series
    assert (experiment.source, table.note, table.counted, table.compare) == (None, "", "tasks", None)
    assert (series.name, series.published, series.optional) == ("asyncio", {}, False)
    small, large = cells(GOOD)
    assert (small.size, large.size) == (1, 10)
    assert (small.action, small.workload, small.trace, small.gc) == ("burst", "sleep:10", False, "default")
    assert (small.threads, small.stack, small.chunks, small.older) == (None, None, 1, 0)
    assert (small.read_after, small.seconds, small.repeats) == (None, 1.0, 3)
    assert read(GOOD + '[source]\narticle = "A"\n').source == Publication(article="A")


@pytest.mark.parametrize("reading", READINGS)
def test_every_reading_accepts_exactly_the_units_of_its_kind(reading):
    trace = "trace = true\nread_after = 0.5\n" if READINGS[reading].needs_tracing else ""
    for unit, (kind, _) in SCALES.items():
        text = changed("peak_rss", reading).replace('"MB"', f'"{unit}"')
        text += f'action = "{READINGS[reading].actions[0]}"\n{trace}'
        if kind is READINGS[reading].unit:
            assert read(text).table[0].unit == unit
        else:
            assert f'unit "{unit}" of {reading}; expected one of ' in problem(text)


# Invalid files.

IN_SERIES = [
    ("trace = 1", 'trace" must be true or false, not a whole number'),
    ('action = "rest"', 'action": "rest"; expected one of burst, hold'),
    ('gc = "freezed"', 'gc": "freezed"; expected one of default, frozen, off; did you mean "frozen"?'),
    ('workload = "slep:3"', 'workload": unknown workload "slep:3"'),
    ('workload = "sleep:x"', 'workload": workload "sleep:x" is not valid; expected seconds'),
    ("workload = 3", 'workload": it must be text'),
    ("quick = [10, 1]", '": quick: 1 after 10; expected ascending sizes'),
    ("repeats = 0", 'repeats" must be a whole number >= 1'),
    ("repeats = 101", 'repeats" must be a whole number <= 100'),
    ("threads = 0", 'threads" must be a whole number >= 1'),
    ("threads = 100001", 'threads" must be a whole number <= 100000'),
    ("stack = -1", 'stack" must be a whole number >= 0'),
    ("chunks = 0", 'chunks" must be a whole number >= 1'),
    ("chunks = 1001", 'chunks" must be a whole number <= 1000'),
    ("read_after = -0.5", 'read_after" must be a number >= 0'),
    ("read_after = inf", 'read_after" must be a number <= 3600'),
    ("seconds = nan", 'seconds" must be a number >= 0'),
    ("published = { 1 = -5 }", 'published[...]" must be a number > 0'),
    ("published = { 1 = 0 }", 'published[...]" must be a number > 0'),
    ("published = { 0 = 5 }", 'published" must be a whole number >= 1'),
    ("published = { 1 = inf }", 'published[...]" must be a number <= 1e+300'),
    ("published = { one = 5 }", 'published" must be a whole number, not text'),
    ('published = { 1 = "5" }', 'published[...]" must be a number, not text'),
    ("environment = { A = 1 }", 'environment[...]" must be text, not a whole number'),
    ('environment = { "A=B" = "" }', 'environment" must be text matching regex'),
    ('environment = { A = "\\u0000" }', 'environment[...]" must be text matching regex'),
]
ELSEWHERE = [
    # Keys and types.
    ('title = "Mine"', 'titel = "Mine"', 'unknown key "titel"; expected one of name, title, '),
    ('title = "Mine"', 'titel = "Mine"', 'did you mean "title"?'),
    ("sizes =", "size =", 'unknown key "table[0].size"; expected one of '),
    ("engine =", "engin =", 'unknown key "table[0].series[0].engin"; expected one of '),
    ('title = "Mine"\n', "", 'key "title" is missing'),
    ('unit = "MB"\n', "", 'key "table[0].unit" is missing'),
    ('title = "Mine"', "title = 3", 'key "title" must be text, not a whole number'),
    ("[1, 10]", "10", 'key "table[0].sizes" must be a list, not a whole number'),
    ("[1, 10]", '[1, "10"]', 'key "table[0].sizes[1]" must be a whole number, not text'),
    (TABLE + SERIES, "", 'key "table" is missing'),
    (TABLE + SERIES, "table = []\n", 'key "table" must be a list of length >= 1'),
    (TABLE + SERIES, "table = 3\n", 'key "table" must be a list, not a whole number'),
    (SERIES, "series = 3\n", 'key "table[0].series" must be a list, not a whole number'),
    (SERIES, "", 'key "table[0].series" is missing'),
    (SERIES, "series = []\n", 'key "table[0].series" must be a list of length >= 1'),
    (SERIES, f"{SERIES}[source]\nyear = 2023\n", 'key "source.article" is missing'),
    (SERIES, f'{SERIES}[source]\narticle = "A"\nyear = "2023"\n', "must be a whole number, not text"),
    (SERIES, f'{SERIES}[source]\nautor = "A"\n', 'unknown key "source.autor"; expected one of article'),
    (SERIES, f'compare = {{ this = "asyncio" }}\n{SERIES}', 'key "table[0].compare.that" is missing'),
    # Not TOML.
    ('title = "Mine"', "title = Mine", "not TOML: "),
    ('title = "Mine"', 'title = "Mine"\ntitle = "Yours"', "not TOML: "),
    ('title = "Mine"', "title = " + "[" * 10_000, "not TOML: "),
    ("[1, 10]", f"[{'1' * 5_000}]", "not TOML: "),
    # Names.
    ('"mine"', '"My experiment"', 'key "name" must be text matching regex'),
    ('"asyncio"', '"asynci"', 'key "table[0].series[0]": unknown engine "asynci"'),
    ('"asyncio"', '"asynci"', 'did you mean "asyncio"?'),
    ('"asyncio"', '"gevent@3.14"', 'unknown engine "gevent@3.14"'),
    (
        '"peak_rss"',
        '"peak_rs"',
        'key "table[0].reading": unknown reading "peak_rs"; did you mean "peak_rss"?',
    ),
    ('"MB"', '"s"', 'key "table[0]": unit "s" of peak_rss; expected one of B, KiB, MiB, GiB, kB, MB, GB'),
    (SERIES, SERIES * 2, 'series "asyncio": called like another; expected different labels'),
    (SERIES, f'compare = {{ this = "asyncio", that = "x" }}\n{SERIES}', 'compare: unknown series "x"'),
    # Sizes.
    ("[1, 10]", "[10, 1]", 'key "table[0].series[0]": sizes: 1 after 10; expected ascending sizes'),
    ("[1, 10]", "[1, 1]", "sizes: 1 after 1; expected ascending sizes"),
    ("[1, 10]", "[0, 10]", "sizes: 0; expected sizes from 1 to 1,000,000,000"),
    ("[1, 10]", "[1, 1000000001]", "sizes: 1000000001; expected sizes from 1 to 1,000,000,000"),
    ("[1, 10]", f"[{', '.join(map(str, range(1, 102)))}]", "101 sizes; expected 100 at most"),
    ("[1, 10]", "[]", "sizes; expected at least one number of tasks"),
    ("sizes = [1, 10]\n", "", "sizes; expected at least one number of tasks"),
    # Contradictions.
    ('"peak_rss"', '"rss"', 'key "table[0]": series "asyncio": rss can only be read with action hold'),
    (
        'peak_rss"\nunit = "MB"',
        'create_rate_cpu"\nunit = "tasks/s"\naction = "hold"',
        "can only be read with action burst",
    ),
    ('"peak_rss"', '"tracer"\naction = "hold"', "tracer needs trace = true"),
    (
        'peak_rss"\nunit = "MB"',
        'throughput"\nunit = "tasks/s"\naction = "hold"',
        "throughput can only be read with action burst or sweep",
    ),
    (
        'peak_rss"\nunit = "MB"\nsizes = [1, 10]\n' + SERIES,
        'throughput"\nunit = "tasks/s"\naction = "sweep"\nsizes = [1]\n'
        + SERIES
        + 'program = "three_sleeps.py"\n',
        "a program ends by itself; its action must be burst",
    ),
    ('"peak_rss"', '"traced_added"\ntrace = true', "traced_added of a burst needs read_after, the seconds"),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        *((SERIES, f"{SERIES}{line}\n", f'key "table[0].series[0]{"" if text[0] == chr(34) else "."}{text}')
          for line, text in IN_SERIES),
        *ELSEWHERE,
    ],
)  # fmt: skip
def test_an_invalid_file_is_a_one_line_error_with_the_key_and_what_was_expected(old, new, expected):
    assert expected in problem(changed(old, new))


# Finding a file.


def test_experiments_are_loaded_by_name_or_path(tmp_path, monkeypatch):
    assert load("batching").name == "batching"
    monkeypatch.chdir(tmp_path)
    for name, path in (("own.toml", tmp_path / "own.toml"), ("own", "./own")):
        (tmp_path / name).write_text(GOOD)
        assert load(str(path)).name == "mine"
    (tmp_path / "own.toml").write_text(changed("[1, 10]", "[10, 1]"))
    for path, expected in (
        ("batchin", r'^unknown experiment "batchin"; expected one of batching, .*did you mean "batching"\?$'),
        ("none.toml", r"none\.toml. cannot be read \(No such file or directory\)"),
        (f"{tmp_path}/", r"cannot be read \(Is a directory\)"),
        ("own.toml", r'^own\.toml: key "table\[0\]\.series\[0\]": sizes: 1 after 10'),
    ):
        with pytest.raises(ValueError, match=expected):
            load(path)
    assert [path.stem for path in shipped()] == sorted(path.stem for path in shipped())


# Entries and cells.


def test_series_override_their_table_and_tables_override_defaults():
    text = (
        f'{HEAD}{TABLE}workload = "hold"\naction = "hold"\ngc = "frozen"\nseconds = 5\nrepeats = 2\n'
        f'trace = true\nolder = true\nthreads = 4\nenvironment = {{ A = "1" }}\n{SERIES}{SERIES}'
        'label = "own"\nworkload = "nop"\naction = "burst"\ngc = "off"\nseconds = 0\nrepeats = 1\n'
        "threads = 8\nstack = 65536\nchunks = 5\nread_after = 0\ntrace = false\nolder = false\n"
        'sizes = [7]\nenvironment = { B = "2", A = "" }\n'
    )
    _, from_table, own = cells(text)
    assert (from_table.workload, from_table.action, from_table.gc) == ("hold", "hold", "frozen")
    assert (from_table.seconds, from_table.repeats, from_table.threads) == (5, 2, 4)
    assert (from_table.trace, from_table.older, from_table.environment) == (True, 1, (("A", "1"),))
    assert (own.workload, own.action, own.gc, own.size) == ("nop", "burst", "off", 7)
    assert (own.seconds, own.repeats, own.threads, own.stack) == (0, 1, 8, 65_536)
    assert (own.chunks, own.read_after, own.trace, own.older) == (5, 0, False, 0)
    assert own.environment == (("A", ""), ("B", "2"))


def test_engines_may_name_a_missing_version_and_optional_ones_need_not_exist():
    text = changed('"asyncio"', '"java-virtual@99"') + SERIES.replace("asyncio", "asyncio@9.9")
    java, _, python, _ = cells(text)
    assert (java.engine, python.engine, java.row().name) == ("java-virtual@99", "asyncio@9.9", "java-virtual")
    assert 'unknown engine "smalltalk"' in problem(changed('"asyncio"', '"smalltalk"'))
    found = entries(read(changed('"asyncio"', '"smalltalk"\noptional = true\npublished = { 10 = 28.6 }')))
    assert [(each.size, each.cell, each.published) for each in found] == [(1, None, None), (10, None, 28.6)]
    assert None not in cells(changed('"asyncio"', '"asyncio"\noptional = true'))


def test_entries_are_in_the_order_of_the_file_with_published_figures():
    for key in ("10", '"10"'):  # TOML keys are text
        text = (
            f'{GOOD}published = {{ {key} = 5 }}\n[[table.series]]\nengine = "threads"\nsizes = [2]\n'
            f'{TABLE.replace(chr(34) + "T", chr(34) + "U")}{SERIES}'
        )  # fmt: skip
        found = [(e.table.title, e.series.name, e.size, e.published) for e in entries(read(text))]
        assert found == [
            ("T", "asyncio", 1, None),
            ("T", "asyncio", 10, 5.0),
            ("T", "threads", 2, None),
            ("U", "asyncio", 1, None),
            ("U", "asyncio", 10, None),
        ]


def test_sizes_come_from_the_file_its_quick_list_or_the_caller():
    quick = changed(SERIES, f"quick = [10]\n{SERIES}")
    for text, choice, sizes in (
        (GOOD, {"quick": True}, [1]),
        (quick, {"quick": True}, [10]),
        (f"{quick}quick = [1, 10]\n", {"quick": True}, [1, 10]),
        (f"{GOOD}quick = []\n", {"quick": True}, []),
        (f"{GOOD}quick = []\n", {}, [1, 10]),
        (GOOD, {"sizes": (5, 10)}, [5, 10]),
        (GOOD, {"sizes": (5, 10), "quick": True}, [5, 10]),
    ):
        assert [cell.size for cell in cells(text, **choice)] == sizes


def test_older_tasks_add_up_all_smaller_sizes_of_the_file():
    text = changed("[1, 10]", "[100, 200, 300]\nolder = true")
    for choice, older in (({}, [0, 100, 300]), ({"quick": True}, [0]), ({"sizes": (250, 300)}, [300, 300])):
        assert [cell.older for cell in cells(text, **choice)] == older


def test_a_million_tasks_are_run_once_unless_the_file_sets_repeats():
    text = changed("[1, 10]", "[999999, 1000000, 2000000]")
    assert [cell.repeats for cell in cells(text)] == [3, 1, 1]
    assert [cell.repeats for cell in cells(f"{text}repeats = 2\n")] == [2, 2, 2]


def test_tables_and_series_that_run_the_same_share_a_cell():
    other = TABLE.replace('"T"', '"U"').replace("peak_rss", "burst_seconds").replace("MB", "s")
    assert len(set(cells(GOOD + other + SERIES))) == 2
    assert len(set(cells(f'{GOOD}{SERIES}label = "again"\n'))) == 2
    assert len(set(cells(f'{GOOD}{other}{SERIES}gc = "off"\n'))) == 4
