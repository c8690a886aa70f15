"""Parsing workloads, and loading functions of the user."""

import inspect
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.portable.protocol.workloads import (
    DEFAULT,
    FORMS,
    USER,
    WORDS,
    churn,
    join_arguments,
    parse,
    split_arguments,
    spread,
)
from concwatch.portable.worker.tasks.user_function import load_function

VALID = {
    "churn": {"": (1000.0,), "1k/s": (1000.0,), "200/s": (200.0,), "0.5": (0.5,), "1M/s": (1e6,)},
    "sleep": {"": (1e6,), "10": (10.0,), "0": (0.0,), "0.05": (0.05,), "5..15": (5.0, 15.0),
              "0 .. 0.5": (0.0, 0.5), "1000000": (1e6,)},
    "ticks": {"10x0.1": (10, 0.1), "1000000x0": (1_000_000, 0.0)},
    "hold": {"": ()},
    "nop": {"": ()},
    "spin": {"0.5": (0.5,)},
    "http": {"": (0.15,), "0.5": (0.5,), "0": (0.0,)},
    "connect": {"": (), "10": (10.0,), "10s": (10.0,), "0.001": (0.001,), "once": ()},
    "payload": {"0": (0,), "4096": (4096,), "4096b": (4096,), "64k": (65_536,), "64KiB": (65_536,),
                "64 kib": (65_536,), "64kB": (64_000,), "2MiB": (2 << 20,), "2MB": (2_000_000,),
                "1G": (1 << 30,), "16GiB": (1 << 34,)},
}  # fmt: skip
"""Word → the text after the colon → its values."""


@pytest.mark.parametrize(
    ("spec", "word", "values"),
    [
        *(
            (f"{word}:{text}" if text else word, word, values)
            for word, forms in VALID.items()
            for text, values in forms.items()
        ),
        (" sleep : 3 ", "sleep", (3.0,)),
        (" http ", "http", (0.15,)),
        (" connect : 10s ", "connect", (10.0,)),
        ("jobs:fetch", USER, ("jobs", "fetch")),
        ("app.jobs:Class.method", USER, ("app.jobs", "Class.method")),
        ("übung:lösung", USER, ("übung", "lösung")),
    ],
)
def test_a_valid_workload_is_parsed(spec, word, values):
    workload = parse(spec)
    assert (workload.word, workload.values, workload.spec) == (word, values, spec.strip())
    assert [type(value) for value in workload.values] == [type(value) for value in values]


INVALID = {
    "expected one of churn[:RATE/s], sleep[:SECONDS]": ["", ":"],
    "module:function": ["xyzzy", "jobs:", ":fetch", "jobs:fetch()", "jobs:fetch:twice", "jobs..x:fetch"],
    'did you mean "sleep"?': ["slep:3", "SLEEP:3"],
    'did you mean "ticks"?': ["tick:3x1"],
    'did you mean "hold"?': ["hold on"],
    'did you mean "payload"?': ["paylod"],
    'did you mean "http"?': ["htp:1"],
    'did you mean "connect"?': ["conect"],
    "expected an interval of at least 0.001 seconds": ["connect:0", "connect:0.0005s"],
    "expected tasks per second up to 1,000,000": [
        f"churn:{wrong}" for wrong in ["", "0", "-1", "2M/s", "1k/h", "k/s", "fast", "1e3"]
    ],
    'expected "hold"': ["hold:3"],
    'expected "nop"': ["nop:"],
    'expected "payload:BYTES"': ["payload"],
    "expected seconds from 0 to 1,000,000": [
        *(f"sleep:{wrong}" for wrong in ["", "-1", "5..", "1..2..3", "1000001", "1e3", "nan", "inf", "٣"]),
        *("sleep:1_0", "sleep:.", "sleep:1.2.3", "sleep:" + "9" * 400),
        *("spin:long", "http:", "http://localhost/", "ticks:3x"),
        *("connect:", "connect:s", "connect:10ss", "connect:10ms", "connect://127.0.0.1:80"),
    ],
    "expected the shorter sleep first": ["sleep:15..5", "sleep:5..5"],
    "expected COUNTxSECONDS": ["ticks:3", "ticks:x1"],
    "count from 1 to 1,000,000": ["ticks:0x1", "ticks:-1x1", "ticks:1000001x1"],
    "expected bytes from 0 to 17,179,869,184": [
        f"payload:{wrong}" for wrong in ["-1", "1.5MiB", "17GiB", "4kk", "4ib", "4bb", "4TiB", "MiB", ""]
    ],
    'workload "sleep:3 hold" is not valid; expected seconds': ["sleep:3\nhold"],
}
"""Part of the message → workloads rejected with it."""


@pytest.mark.parametrize(
    ("spec", "expected"), [(spec, expected) for expected, specs in INVALID.items() for spec in specs]
)
def test_an_invalid_workload_is_rejected_with_a_short_message(spec, expected):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the message is compared below, literally
        parse(spec)
    message = str(caught.value)
    assert message.startswith((f'workload "{" ".join(spec.split())[:60]}', f'unknown workload "{spec[:60]}'))
    assert expected in message
    assert "\n" not in message
    assert len(message) < 400


def test_the_default_is_valid_and_every_word_is_listed():
    assert parse(DEFAULT).word == "sleep"
    assert WORDS == (
        "churn",
        "sleep",
        "ticks",
        "hold",
        "payload",
        "spin",
        "nop",
        "http",
        "connect",
        "module:function",
    )
    assert [form.syntax.partition(":")[0].rstrip("[") for form in FORMS.values()] == list(FORMS)
    assert all(("[" in form.syntax) == (form.default is not None) for form in FORMS.values())


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
    """Loads functions from a temporary working directory; its modules are unloaded after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = dict(sys.modules)
    (tmp_path / "user_jobs.py").write_text(JOBS)

    def find(spec, coroutine=True, arguments=()):
        workload = parse(spec)
        workload.arguments = arguments
        return load_function(workload, coroutine)

    yield find
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


def error_message(find, spec, coroutine=True):
    with pytest.raises(ValueError, match=r"^workload ") as caught:
        find(spec, coroutine)
    assert f'workload "{spec}": ' in str(caught.value)
    return str(caught.value)


def test_a_function_is_loaded_from_the_working_directory_also_after_a_failure(find, tmp_path):
    assert find("user_jobs:wait").__code__.co_filename == str(tmp_path / "user_jobs.py")
    assert find("user_jobs:Group.wait").__qualname__ == "Group.wait"
    assert find("user_jobs:work", coroutine=False).__name__ == "work"
    assert find("user_jobs:with_default", coroutine=False).__name__ == "with_default"
    error_message(find, "user_package.inner:wait")
    (tmp_path / "user_package").mkdir()
    (tmp_path / "user_package" / "inner.py").write_text("async def wait(): ...\n")
    assert find("user_package.inner:wait").__name__ == "wait"


BROKEN = {
    "1 / 0": "importing user_broken failed: ZeroDivisionError: division by zero",
    "def f(:": "importing user_broken failed: SyntaxError",
    "raise SystemExit(3)": "importing user_broken failed: SystemExit: 3",
    "import sys; sys.exit()": "importing user_broken failed: SystemExit",
    "def __getattr__(name): raise RuntimeError('no attributes')": "no attributes",
    "import user_nowhere": "module user_broken needs user_nowhere, which is not installed",
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_module_that_fails_to_import_is_reported(find, tmp_path, source):
    (tmp_path / "user_broken.py").write_text(source + "\n")
    assert BROKEN[source] in error_message(find, "user_broken:wait")


@pytest.mark.parametrize(
    ("spec", "coroutine", "expected"),
    [
        ("user_job:wait", True, r'no module "user_job" in \S+ or among the .*; did you mean "user_jobs"\?'),
        ("user_jobs:wiat", True, 'module user_jobs has no "wiat"; did you mean "wait"'),
        ("user_jobs:work", True, r"work is a plain function; an event loop needs .* \(async def\)"),
        ("user_jobs:wait", False, r"wait is a coroutine function; a thread needs a plain function \(def\)"),
        (
            "user_jobs:one_more",
            True,
            "missing a .* argument: 'number'.; expected a function that needs no arg",
        ),
        ("user_jobs:five", True, "five is a int; expected a function"),
    ],
)
def test_a_missing_or_unsuitable_function_is_reported(find, spec, coroutine, expected):
    assert re.search(expected, error_message(find, spec, coroutine))


def test_a_function_is_called_with_the_arguments_of_the_workload(find):
    found = find("user_jobs:with_default", coroutine=False, arguments=("7",))
    assert (found.func.__name__, found.args) == ("with_default", ("7",))
    assert inspect.iscoroutinefunction(find("user_jobs:one_more", arguments=("7",)))
    with pytest.raises(ValueError, match=r"too many .*; expected a function that takes 2 arguments, one for"):
        find("user_jobs:one_more", arguments=("7", "8"))


@given(st.lists(st.text(st.characters(exclude_characters="\0"))))
def test_arguments_are_one_string_on_the_wire(arguments):
    assert split_arguments(join_arguments(arguments)) == tuple(arguments)


@given(least=st.floats(0, 100), span=st.floats(0.1, 100), count=st.integers(20, 500))
def test_a_range_of_durations_is_covered_evenly(least, span, count):
    next_duration = spread(least, least + span)
    durations = [next_duration() for _ in range(count)]
    assert all(least <= duration <= least + span for duration in durations)
    for tenth in range(10):
        low = least + span * tenth / 10
        inside = sum(low <= duration < low + span / 10 for duration in durations)
        assert abs(inside - count / 10) <= 3


@given(target=st.integers(1, 2_000_000), rate=st.sampled_from((0.5, 100.0, 1_000.0)))
def test_churn_draws_exponential_durations_with_the_mean_of_target_over_rate(target, rate):
    next_duration = churn(rate, lambda: target)
    durations = sorted(next_duration() for _ in range(2_000))
    mean = max(0.001, target / rate)
    for share in (0.1, 0.5, 0.9, 0.99):
        expected = min(1e6, -mean * math.log(1 - share))
        assert durations[int(share * 2_000)] == pytest.approx(expected, rel=0.05)
    assert durations[0] >= 0
    assert durations[-1] <= 1e6


def test_threads_draw_durations_at_once():
    draw, interval = churn(1_000, lambda: 10), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            drawn = [pool.submit(lambda: [draw() for _ in range(100_000)]) for _ in range(8)]
            assert sum(len(each.result()) for each in drawn) == 800_000
    finally:
        sys.setswitchinterval(interval)


def test_a_new_target_changes_what_churn_draws():
    targets = iter([1_000] * 500 + [100_000] * 500)
    next_duration = churn(1_000, lambda: next(targets))
    assert sum(next_duration() for _ in range(500)) / 500 == pytest.approx(1, rel=0.05)
    assert sum(next_duration() for _ in range(500)) / 500 == pytest.approx(100, rel=0.05)


def test_only_a_sleep_with_a_range_and_churn_have_varying_durations():
    assert parse("sleep:5..15").durations(int) is not None
    assert parse("churn").durations(int) is not None
    assert [parse(spec).durations(int) for spec in ("sleep:5", "ticks:2x5", "hold")] == [None] * 3
    assert all(parse(spec).word == word for word, form in FORMS.items() for spec in form.examples)
