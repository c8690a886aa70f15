"""Failed tasks by the type of the exception and the line of the user's code."""

import sys
import textwrap
import threading

import pytest

from concwatch.portable.worker.tasks.failures import MOST_KINDS, OTHERS, PLACE, Failures, kind_of


def raised(function):
    """Call a function, and return what it raises."""
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def user_function(source, folder, name="call"):
    """Return a function of a file outside concwatch."""
    path = folder / "jobs.py"
    path.write_text(textwrap.dedent(source))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names[name]


def test_a_failure_is_named_by_its_type_and_the_innermost_line_of_own_code(tmp_path):
    call = user_function(
        """
        import json
        def parse(text):
            return json.loads(text)
        def call():
            parse("{")
        """,
        tmp_path,
    )
    assert kind_of(raised(call)) == ("JSONDecodeError", f"{tmp_path / 'jobs.py'}:4")


def test_without_own_code_the_line_is_that_of_what_was_called():
    import json

    name, where = kind_of(raised(lambda: json.loads("{")).with_traceback(None))
    assert (name, where) == ("JSONDecodeError", "")
    error = raised(lambda: json.loads("{"))
    library = error.__traceback__.tb_next.tb_next  # without the lines of this test
    name, where = kind_of(error.with_traceback(library))
    assert where.startswith(json.__file__)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are new in Python 3.11")
def test_a_group_counts_as_its_first_exception(tmp_path):
    call = user_function(
        """
        def fail():
            raise KeyError("no")
        def call():
            try:
                fail()
            except KeyError as error:
                raise ExceptionGroup("both", [error, ValueError()])
        """,
        tmp_path,
    )
    assert kind_of(raised(call)) == ("KeyError", f"{tmp_path / 'jobs.py'}:3")


def test_a_line_that_was_found_before_is_kept():
    error = ValueError()
    setattr(error, PLACE, "/app/jobs.py:7")
    assert kind_of(error) == ("ValueError", "/app/jobs.py:7")


def test_a_peculiar_exception_is_counted():
    class Peculiar(Exception):
        def __getattribute__(self, name):
            raise RuntimeError(name)

    assert kind_of(Peculiar()) == ("Peculiar", "")
    failures = Failures()
    failures.add(type("bell\a" * 100, (Exception,), {})())
    (found,) = failures.report()["failures"]
    assert found["type"].startswith("bell?bell?")
    assert len(found["type"]) == 200


def test_a_dozen_kinds_are_counted_one_by_one_and_the_others_together():
    failures = Failures()
    assert failures.report() == {}
    for number in range(MOST_KINDS + 5):
        for _ in range(number + 1):
            failures.add(type(f"Error{number}", (Exception,), {})())
    found = failures.report()["failures"]
    assert found[0] == {"type": "Error0", "where": "", "count": 1}
    assert len(found) == MOST_KINDS + 1
    assert found[-1] == {"type": OTHERS[0], "where": OTHERS[1], "count": 13 + 14 + 15 + 16 + 17}
    assert failures.report() == {}  # nothing has changed since


def test_failures_of_many_threads_are_all_counted():
    failures, error = Failures(), ValueError()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda: [failures.add(error) for _ in range(2_000)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures.report()["failures"] == [{"type": "ValueError", "where": "", "count": 16_000}]
