"""What RSS of a process is made of: the parts add up, and what is unknown stays so."""

import pytest
from msgspec import structs

from concwatch.links.agent_messages import MallocFigures, MemoryParts
from concwatch.monitor.verdicts.rss_parts import outside_parts, rss_parts
from concwatch.system.process import Reading

MIB = 1 << 20

FOUND = MemoryParts(
    rss=195 * MIB, anonymous=185 * MIB, file_pages=9 * MIB, shared=MIB, stacks=MIB, heap=175 * MIB,
    written=MIB, other=8 * MIB, heap_size=180 * MIB, arenas=170 * MIB, blocks=70_000,
    malloc=MallocFigures(taken=180 * MIB, free=176 * MIB, mapped=2 * MIB, arenas=9, pause=0.002),
)  # fmt: skip

READING = Reading(195 * MIB, 0.1, 9, kernel_stack=144 << 10, page_tables=1 << 20, kernel_objects=200 << 10)


def sizes(parts):
    assert sum(part.bytes or 0 for part in parts.parts) == parts.rss
    return {part.name: part.bytes if part.bytes is None else part.bytes / MIB for part in parts.parts}


def test_free_memory_is_what_the_blocks_in_use_cannot_take_of_the_heap():
    parts = rss_parts(FOUND, READING, 100.0)
    assert sizes(parts) == {
        "c_heap_used": 4, "c_heap_free": 171, "large_blocks": 2, "python": 6, "stacks": 1, "changed_pages": 1,
        "file_pages": 9, "shared": 1, "unexplained": 0,
    }  # fmt: skip
    assert [part.name for part in parts.parts][:2] == ["c_heap_free", "file_pages"]
    assert parts.parts[0].size == "≥ 171 MiB"
    assert parts.advice == (
        "malloc_trim(0) can return pages of it; MALLOC_ARENA_MAX=2 bounds the number of its arenas, 9"
    )
    record = parts.as_json(90.0)
    assert (record["as_of"], record["at_least"], record["unknown"]) == (10.0, ["c_heap_free"], None)
    assert record["kernel"] == {
        "kernel_stack": 144 << 10,
        "page_tables": 1 << 20,
        "kernel_objects": 200 << 10,
    }


@pytest.mark.parametrize(
    ("changes", "malloc", "expected"),
    [
        # Trimmed: what is free has no pages.
        ({"heap": 5 * MIB, "other": 178 * MIB}, {}, {"c_heap_free": 1, "c_heap_used": 4, "python": 176}),
        # Mappings that look like arenas, of a runtime in another language.
        ({"heap_size": 300 * MIB}, {}, {"c_heap_free": 51, "c_heap_used": 4, "python": 126}),
        # Arenas that are mapped like anything else, beside a large block; the second time they are trimmed.
        (
            {
                "heap": 47 * MIB,
                "heap_size": 52 * MIB,
                "other": 136 * MIB,
                "regions": 192 * MIB,
                "regions_rss": 192 * MIB,
            },
            {},
            {"c_heap_free": 171, "c_heap_used": 4, "python": 6},
        ),
        (
            {
                "heap": 47 * MIB,
                "heap_size": 52 * MIB,
                "other": 136 * MIB,
                "regions": 192 * MIB,
                "regions_rss": 64 * MIB,
            },
            {},
            {"c_heap_free": 43, "c_heap_used": 4, "python": 134},
        ),
        # Blocks that have been allocated, and not been written to.
        ({}, {"taken": 900 * MIB, "free": 100 * MIB}, {"c_heap_free": 0, "c_heap_used": 175, "python": 6}),
        ({}, {"mapped": 500 * MIB}, {"large_blocks": 8, "python": 0}),
    ],
)
def test_no_more_is_called_free_than_is_known_to_be(changes, malloc, expected):
    found = structs.replace(FOUND, malloc=structs.replace(FOUND.malloc, **malloc), **changes)
    assert sizes(rss_parts(found, None, 0.0)).items() >= expected.items()


def test_what_malloc_does_not_say_is_unknown():
    parts = rss_parts(structs.replace(FOUND, malloc=None, unknown="malloc is that of libjemalloc"), None, 0.0)
    assert sizes(parts).items() >= {"c_heap": 5, "c_heap_free": None, "python": 178}.items()
    assert (parts.free, parts.advice, parts.arenas) == (None, "", None)
    assert next(part.size for part in parts.parts if part.name == "c_heap_free") == "–"


def test_free_memory_in_few_arenas_is_not_bounded_by_their_number():
    few = structs.replace(FOUND, malloc=structs.replace(FOUND.malloc, arenas=2))
    first = structs.replace(FOUND, arenas=10 * MIB)
    for found in (few, first):
        assert rss_parts(found, None, 0.0).advice == "malloc_trim(0) can return pages of it"


def test_without_an_agent_rss_has_the_parts_that_the_system_tells():
    parts = outside_parts(
        structs.replace(READING, anonymous=150 * MIB, shared=5 * MIB), 1.0, "it is not a Python program"
    )
    assert sizes(parts) == {"anonymous": 150, "file_pages": 40, "shared": 5, "unexplained": 0}
    assert sizes(outside_parts(READING, 1.0, "macOS")) == {"unexplained": 195}
    assert rss_parts(MemoryParts(unknown="why"), READING, 1.0).unknown == "why"
    assert rss_parts(MemoryParts(unknown="why"), None, 1.0).rss is None
