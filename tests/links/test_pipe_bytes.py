"""Bytes from a pipe: divided into lines, with limits on their length and number."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from concwatch.links.pipe_bytes import MAX_BYTES, MAX_LINES, PipeLines
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE


def all_lines(pipe):
    found = []
    while True:
        more = pipe.lines()
        found += more
        if not pipe.waiting:
            return found


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 200)))
def test_lines_are_the_same_for_every_division_into_chunks(lines, cuts):
    data = b"\n".join(lines)
    pipe = PipeLines()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    found = []
    for begin, end in pairwise(places):
        pipe.feed(data[begin:end])
        found += all_lines(pipe)
    *whole, rest = data.split(b"\n")
    assert found == whole
    assert pipe.rest() == rest


def test_many_lines_are_returned_in_batches():
    pipe = PipeLines()
    pipe.feed(b"x\n" * (2 * MAX_LINES + 5))
    assert [len(pipe.lines()) for _ in range(4)] == [MAX_LINES, MAX_LINES, 5, 0]


def test_a_line_that_is_too_long_is_reported_once_and_skipped():
    pipe = PipeLines()
    pipe.feed(b"a\n" + b"x" * (LONGEST_LINE + 1))
    assert pipe.full
    assert pipe.lines() == [b"a", None]
    for _ in range(5):
        pipe.feed(b"x" * LONGEST_LINE)
        assert pipe.lines() == []
    pipe.feed(b"x\nb\n")
    assert pipe.lines() == [b"b"]
    pipe.feed(b"y" * (LONGEST_LINE + 1) + b"\nc\n" + b"z" * LONGEST_LINE + b"\n")
    assert pipe.lines() == [None, b"c", b"z" * LONGEST_LINE]


def test_a_buffer_is_full_of_bytes_until_they_are_read():
    pipe = PipeLines()
    for _ in range(MAX_BYTES // 1_000_000):
        pipe.feed(b"x" * 999_999 + b"\n")
        pipe.lines()
    assert not pipe.full
    pipe.feed(b"x" * 200_000)
    assert pipe.full
    pipe.reset()
    assert not pipe.full
