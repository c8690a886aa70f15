"""Flame graphs: how stacks are merged, ordered, laid out in columns, and exported."""

import itertools
import re
from xml.etree import ElementTree

import pytest

from concwatch.charts.flame_graph import flame_graph, rows, shortened
from concwatch.charts.painters.flame_svg import draw_flame_graph
from concwatch.links.agent_messages import Profile, ProfileFrame, ProfileStack, decode_report

FRAMES = (
    ProfileFrame("handle", "/srv/app.py:10", own=True),
    ProfileFrame("dumps", "/usr/lib/python3.11/json/__init__.py:231"),
    ProfileFrame("render", "/srv/app.py:20", own=True),
    ProfileFrame("render", "/srv/app.py:24", own=True),
    ProfileFrame("Thread._bootstrap", "/usr/lib/python3.11/threading.py:1002"),
    ProfileFrame("hash;password", "/srv/app.py:30", own=True),
    ProfileFrame("event loop"),
    ProfileFrame("_worker", "/usr/lib/python3.11/concurrent/futures/thread.py:81"),
)
POOL = "concurrent.futures.thread._worker"


def profile(*stacks, cpu=None):
    found = tuple(
        ProfileStack(thread, frames, used, samples=round(100 * used)) for thread, frames, used in stacks
    )
    whole = sum(stack.cpu for stack in found) if cpu is None else cpu
    return Profile(10.0, whole, 1_000, sum(stack.samples for stack in found), FRAMES, found)


SEVERAL = profile(
    ("main", (0, 2, 1), 0.5),
    ("main", (0, 3), 0.1),
    ("main", (6,), 0.2),
    (POOL, (4, 7, 5), 1.0),
    (POOL, (4, 7), 0.2),
)


def names(found):
    return [[placed.block.name for placed in row] for row in found]


def test_lines_of_a_function_are_one_block_and_own_code_comes_first():
    graph = flame_graph("app.py 7", SEVERAL)
    assert names(rows(graph.root, 100, 10)) == [
        ["app.py 7"],
        ["executor threads", "main thread"],
        ["hash;password", "_worker", "handle", "event loop"],
        ["render"],
        ["dumps"],
    ]
    render = graph.root.children[1].children[0].children[0]
    assert render.where == "srv/app.py:20"
    assert graph.describe(render) == "30 % ± 6.4 · 600 ms · 17 % of it in itself"
    assert graph.answer().startswith("most in hash;password 50 %, render 30 % (own code")
    assert graph.subtitle == "2 s of CPU time in 10 s (20 % of a core) · 200 samples"


def test_the_only_thread_has_no_block_of_its_own_and_others_without_samples_have_one():
    graph = flame_graph("app.py 7", profile(("main", (0,), 0.5), cpu=1.0))
    assert names(rows(graph.root, 100, 10)) == [["app.py 7"], ["handle", "other threads"]]
    nothing = flame_graph("app.py 7", profile(("main", (0,), 0.5), cpu=0.501))
    assert names(rows(nothing.root, 100, 10)) == [["app.py 7"], ["handle"]]


@pytest.mark.parametrize("width", [1, 7, 79, 200])
def test_blocks_are_as_wide_as_their_share_and_never_overlap(width):
    graph = flame_graph("app.py 7", SEVERAL)
    for row in rows(graph.root, width, 10):
        for placed in row:
            exact = graph.share(placed.block) * width
            assert 0 <= placed.left < placed.right <= width
            assert abs(placed.right - placed.left - exact) <= 1
        for one, other in itertools.pairwise(row):
            assert one.right <= other.left


def test_a_block_that_is_zoomed_into_is_as_wide_as_all_and_below_those_that_have_called_it():
    graph = flame_graph("app.py 7", SEVERAL)
    handle = graph.root.children[1].children[0]
    found = rows(handle, 60, 10)
    assert names(found) == [["app.py 7"], ["main thread"], ["handle"], ["render"], ["dumps"]]
    assert [(row[0].left, row[0].right) for row in found] == [(0, 60)] * 4 + [(0, 50)]
    assert len(rows(handle, 60, 4)) == 4


def test_folded_stacks_have_a_line_for_each_stack_and_microseconds():
    lines = flame_graph("app.py 7", SEVERAL).folded().splitlines()
    assert lines[0] == "executor threads;hash:password (srv/app.py) 1000000"
    assert "main thread;handle (srv/app.py);render (srv/app.py);dumps (json/__init__.py) 500000" in lines
    assert "main thread;event loop 200000" in lines
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 2_000_000


@pytest.mark.parametrize("dark", [True, False])
def test_the_svg_is_one_file_whose_blocks_have_titles(dark):
    frames = (*FRAMES[:-1], ProfileFrame("<lambda> & co", "/srv/app.py:3", own=True))
    text = draw_flame_graph(flame_graph("app.py 7", Profile(10, 2, 1, 1, frames, SEVERAL.stacks)), dark)
    tree = ElementTree.fromstring(text)
    titles = [title.text for title in tree.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "app.py 7: where CPU time went"
    assert any(title.startswith("render\nsrv/app.py:20\n30 %") for title in titles)
    assert any(title.startswith("<lambda> & co") for title in titles)
    assert not re.findall(r"(href|src|url\()", text)


def test_names_are_shortened_to_their_last_part_then_cut():
    assert shortened("JSONEncoder.encode", 18) == "JSONEncoder.encode"
    assert shortened("JSONEncoder.encode", 17) == "encode"
    assert shortened("JSONEncoder.encode", 5) == "enco…"
    assert shortened("JSONEncoder.encode", 2) == ""


def test_a_report_whose_indexes_are_wrong_is_refused():
    line = b'{"type":"profile","seconds":1,"cpu":1,"frames":[{"in":"f"}],'
    line += b'"stacks":[{"thread":"main","frames":[%d]}]}'
    assert decode_report(line % 0).frames[0].in_ == "f"
    with pytest.raises(ValueError, match="index"):
        decode_report(line % 1)


def test_deep_recursion_is_drawn():
    graph = flame_graph("app.py 7", profile(("main", (0,) * 200, 1.0)))
    assert graph.root.depth() == 201
    assert len(rows(graph.root, 80, 400)) == 201
    assert draw_flame_graph(graph).count("<g>") == 201
