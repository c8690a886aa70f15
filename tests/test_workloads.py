"""Workloads: how their words are read, and how the user's own functions are found."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.worker.user_function import find_function
from concwatch.worker.workloads import (
    DEFAULT,
    DEFAULTS,
    EXAMPLES,
    FORMS,
    USER,
    WORDS,
    Spread,
    Workload,
    parse,
)


@pytest.mark.parametrize(
    ("spec", "word", "values"),
    [
        ("sleep:10", "sleep", (10.0,)),
        ("sleep:0", "sleep", (0.0,)),
        ("sleep:0.05", "sleep", (0.05,)),
        ("sleep:5..15", "sleep", (5.0, 15.0)),
        ("sleep:0 .. 0.5", "sleep", (0.0, 0.5)),
        ("sleep:1000000", "sleep", (1e6,)),
        (" sleep : 3 ", "sleep", (3.0,)),
        ("ticks:10x0.1", "ticks", (10, 0.1)),
        ("ticks:1000000x0", "ticks", (1_000_000, 0.0)),
        ("hold", "hold", ()),
        ("nop", "nop", ()),
        ("spin:0.5", "spin", (0.5,)),
        ("http", "http", (0.15,)),
        (" http ", "http", (0.15,)),
        ("http:0.5", "http", (0.5,)),
        ("http:0", "http", (0.0,)),
        ("payload:0", "payload", (0,)),
        ("payload:4096", "payload", (4096,)),
        ("payload:4096b", "payload", (4096,)),
        ("payload:64k", "payload", (64 * 1024,)),
        ("payload:64KiB", "payload", (64 * 1024,)),
        ("payload:64 kib", "payload", (64 * 1024,)),
        ("payload:64kB", "payload", (64_000,)),
        ("payload:2MiB", "payload", (2 << 20,)),
        ("payload:2MB", "payload", (2_000_000,)),
        ("payload:1G", "payload", (1 << 30,)),
        ("payload:16GiB", "payload", (1 << 34,)),
        ("jobs:fetch", USER, ("jobs", "fetch")),
        ("app.jobs:Class.method", USER, ("app.jobs", "Class.method")),
        ("übung:lösung", USER, ("übung", "lösung")),
    ],
)
def test_a_workload_is_read(spec, word, values):
    workload = parse(spec)
    assert (workload.word, workload.values, workload.spec) == (word, values, spec.strip())
    assert [type(value) for value in workload.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", "expected one of sleep:SECONDS"),
        (":", "expected one of sleep:SECONDS"),
        ("slep:3", 'did you mean "sleep"?'),
        ("SLEEP:3", 'did you mean "sleep"?'),
        ("tick:3x1", 'did you mean "ticks"?'),
        ("hold on", 'did you mean "hold"?'),
        ("paylod", 'did you mean "payload"?'),
        ("xyzzy", "module:function"),
        ("jobs:", "module:function"),
        (":fetch", "module:function"),
        ("jobs:fetch()", "module:function"),
        ("jobs:fetch:twice", "module:function"),
        ("jobs..x:fetch", "module:function"),
        ("sleep", 'expected "sleep:SECONDS"'),
        ("sleep:", "expected seconds from 0 to 1,000,000"),
        ("sleep:-1", "expected seconds from 0 to 1,000,000"),
        ("sleep:15..5", "expected the shorter sleep first"),
        ("sleep:5..5", "expected the shorter sleep first"),
        ("sleep:5..", "expected seconds from 0 to 1,000,000"),
        ("sleep:1..2..3", "expected seconds from 0 to 1,000,000"),
        ("sleep:1000001", "expected seconds from 0 to 1,000,000"),
        ("sleep:1e3", "expected seconds"),
        ("sleep:nan", "expected seconds"),
        ("sleep:inf", "expected seconds"),
        ("sleep:٣", "expected seconds"),
        ("sleep:1_0", "expected seconds"),
        ("sleep:.", "expected seconds"),
        ("sleep:1.2.3", "expected seconds"),
        ("sleep:" + "9" * 400, "expected seconds"),
        ("hold:3", 'expected "hold"'),
        ("nop:", 'expected "nop"'),
        ("spin:long", "expected seconds"),
        ("http:", "expected seconds from 0 to 1,000,000"),
        ("http://localhost/", "expected seconds"),
        ("htp:1", 'did you mean "http"?'),
        ("ticks:3", "expected COUNTxSECONDS"),
        ("ticks:0x1", "count from 1 to 1,000,000"),
        ("ticks:-1x1", "count from 1 to 1,000,000"),
        ("ticks:1000001x1", "count from 1 to 1,000,000"),
        ("ticks:3x", "expected seconds"),
        ("ticks:x1", "expected COUNTxSECONDS"),
        ("payload", 'expected "payload:BYTES"'),
        ("payload:-1", "expected bytes from 0 to 17,179,869,184"),
        ("payload:1.5MiB", "expected bytes"),
        ("payload:17GiB", "expected bytes"),
        ("payload:4kk", "expected bytes"),
        ("payload:4ib", "expected bytes"),
        ("payload:4bb", "expected bytes"),
        ("payload:4TiB", "expected bytes"),
        ("payload:MiB", "expected bytes"),
        ("payload:", "expected bytes"),
        ("sleep:3\nhold", 'workload "sleep:3 hold": expected seconds'),
    ],
)
def test_a_wrong_one_is_named_with_what_was_expected(spec, expected):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the message is compared below, literally
        parse(spec)
    message = str(caught.value)
    assert message.startswith((f'workload "{" ".join(spec.split())[:60]}', f'unknown workload "{spec[:60]}'))
    assert expected in message
    assert "\n" not in message
    assert len(message) < 400


def test_the_default_is_one_and_every_word_is_listed():
    assert parse(DEFAULT).word == "sleep"
    assert WORDS == ("sleep", "ticks", "hold", "payload", "spin", "nop", "http", "module:function")
    assert [form.partition(":")[0].rstrip("[") for form, _, _ in FORMS.values()] == list(FORMS)


def test_what_may_be_left_out_is_written_in_brackets_and_can_be_read():
    assert {word for word, (form, _, _) in FORMS.items() if "[" in form} == set(DEFAULTS)
    for word, text in DEFAULTS.items():
        assert parse(word).values == parse(f"{word}:{text}").values


words = st.one_of(st.sampled_from([*FORMS, "jobs", "a.b", ""]), st.text(max_size=8))
numbers = st.one_of(st.text("0123456789.xeE+-_kKMGTiBb ", max_size=30), st.text(max_size=10))


@given(st.one_of(st.text(max_size=80), st.builds("{}:{}".format, words, numbers)))
def test_any_text_is_a_workload_or_one_line_of_complaint(spec):
    try:
        workload = parse(spec)
    except ValueError as refusal:
        workload, message = None, str(refusal)
    if workload is None:
        assert len(message.splitlines()) == 1
    else:
        assert isinstance(workload, Workload)
        assert workload.word in WORDS
        assert parse(workload.spec).values == workload.values


JOBS = """
async def wait(): ...
def work(): ...
async def one_more(number): ...
def with_default(number=3): ...
class Group:
    @staticmethod
    async def wait(): ...
five = 5
_hidden = 6
"""


@pytest.fixture
def find(tmp_path, monkeypatch):
    """Find ``spec`` from a working directory of its own; modules come and go with the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = dict(sys.modules)
    (tmp_path / "user_jobs.py").write_text(JOBS)

    def look(spec, coroutine=True):
        return find_function(parse(spec), coroutine)

    yield look
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


def complaint(find, spec, coroutine=True):
    with pytest.raises(ValueError, match=r"^workload ") as caught:
        find(spec, coroutine)
    assert f'workload "{spec}": ' in str(caught.value)
    return str(caught.value)


def test_a_function_is_found_from_the_working_directory(find, tmp_path):
    assert find("user_jobs:wait").__code__.co_filename == str(tmp_path / "user_jobs.py")
    assert find("user_jobs:Group.wait").__qualname__ == "Group.wait"
    assert find("user_jobs:work", coroutine=False).__name__ == "work"
    assert find("user_jobs:with_default", coroutine=False).__name__ == "with_default"


def test_a_module_in_a_package_is_found(find, tmp_path):
    (tmp_path / "user_package").mkdir()
    (tmp_path / "user_package" / "inner.py").write_text("async def wait(): ...\n")
    assert find("user_package.inner:wait").__name__ == "wait"


def test_a_module_written_after_a_vain_try_is_found(find, tmp_path):
    complaint(find, "user_late:wait")
    (tmp_path / "user_late.py").write_text("async def wait(): ...\n")
    assert find("user_late:wait").__name__ == "wait"


def test_a_missing_module_is_named_with_where_it_was_looked_for_and_the_nearest(find, tmp_path):
    message = complaint(find, "user_job:wait")
    assert f'no module "user_job" in {tmp_path} or among the installed packages' in message
    assert 'did you mean "user_jobs"?' in message


def test_a_missing_function_is_named_with_the_nearest(find):
    message = complaint(find, "user_jobs:wiat")
    assert 'module user_jobs has no "wiat"; did you mean "wait"?' in message


def test_what_the_module_itself_misses_is_named(find, tmp_path):
    (tmp_path / "user_needy.py").write_text("import user_nowhere\n")
    assert "module user_needy needs user_nowhere, which is not installed" in complaint(
        find, "user_needy:wait"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 / 0", "importing user_broken failed: ZeroDivisionError: division by zero"),
        ("def f(:", "importing user_broken failed: SyntaxError"),
        ("raise SystemExit(3)", "importing user_broken failed: SystemExit: 3"),
        ("import sys; sys.exit()", "importing user_broken failed: SystemExit"),
        ("def __getattr__(name): raise RuntimeError('not now')", "not now"),
    ],
)
def test_a_module_that_breaks_says_how(find, tmp_path, source, expected):
    (tmp_path / "user_broken.py").write_text(source + "\n")
    assert expected in complaint(find, "user_broken:wait")


@pytest.mark.parametrize(
    ("function", "coroutine", "expected"),
    [
        ("work", True, "work is a plain function: an event loop needs a coroutine function (async def)"),
        ("wait", False, "wait is a coroutine function: a thread needs a plain function (def)"),
        (
            "one_more",
            True,
            "missing a required argument: 'number': expected a function that needs no arguments",
        ),
        ("five", True, "five is a int: expected a function"),
    ],
)
def test_the_wrong_kind_is_named_with_the_right_one(find, function, coroutine, expected):
    assert expected in complaint(find, f"user_jobs:{function}", coroutine)


@given(least=st.floats(0, 100), span=st.floats(0.1, 100), count=st.integers(20, 500))
def test_lengths_are_spread_evenly_however_many_are_taken(least, span, count):
    lengths = Spread(least, least + span)
    found = [lengths() for _ in range(count)]
    assert all(least <= length <= least + span for length in found)
    for tenth in range(10):
        low = least + span * tenth / 10
        inside = sum(low <= length < low + span / 10 for length in found)
        assert abs(inside - count / 10) <= 3, "no part of the span has many more than another"


def test_only_a_sleep_of_two_lengths_varies():
    assert parse("sleep:5..15").lengths is not None
    assert [parse(spec).lengths for spec in ("sleep:5", "ticks:2x5", "hold")] == [None] * 3
    assert [parse(spec).word for spec in EXAMPLES]
