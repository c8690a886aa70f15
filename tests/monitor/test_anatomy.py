"""The parts of a task's memory, from what is known of a lane."""

import pytest
from msgspec.structs import replace

from concwatch.links.messages import Anatomy, TaskPart, Tick
from concwatch.monitor.metrics.anatomy import Kind, task_anatomy
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.workers.cost import CostMeter
from concwatch.system.process import Reading

KERNEL = {
    "kernel_stack_per_task": 16_384.0,
    "page_tables_per_task": 4_160.0,
    "kernel_objects_per_task": 6_950.0,
}
NO_KERNEL = dict.fromkeys(KERNEL, 0.0)


def lane(rss=1_000.0, parts=None, idle_heap=None, **known):
    sample = blank_sample(0, 0.0, live=1_000, rss_per_task=rss, measured_live=1_000, **{**NO_KERNEL, **known})
    answer = Anatomy(1_000, 500, parts=tuple(parts)) if parts is not None else None
    facts = EngineFacts("asyncio", "one task")
    return LaneSnapshot(facts, LaneStatus(), sample, anatomy=answer, idle_heap=idle_heap)


def named(found):
    return {part.name: part.bytes for part in found.parts}


PARTS = (
    TaskPart("Task", 200, 1),
    TaskPart("rounded up by the allocator", 50),
    TaskPart("coroutine work and its frame", 250, 1, "work"),
    TaskPart("buffer", 400, 2, "work"),
)


def test_the_parts_add_up_and_what_is_not_explained_is_one_of_them():
    found = task_anatomy(lane(parts=PARTS, **KERNEL))
    assert found.whole == 1_000 + sum(KERNEL.values())
    assert sum(part.bytes for part in found.parts) == pytest.approx(found.whole, rel=0.005)
    assert found.unexplained == pytest.approx(100)
    assert [part.name for part in found.parts] == [
        "buffer",
        "coroutine work and its frame",
        "Task",
        "rounded up by the allocator",
        "kernel stack",
        "kernel objects (slab, sockets)",
        "page tables",
    ]
    kinds = found.kinds()
    assert kinds[Kind.FUNCTION] == 650
    assert (kinds[Kind.OBJECT], kinds[Kind.MEMORY]) == (200, 50)
    small = task_anatomy(lane(parts=PARTS))
    assert small.parts[-1].name == "not explained"
    assert sum(part.bytes for part in small.parts) == pytest.approx(small.whole)


def test_parts_that_are_more_than_the_whole_have_a_negative_rest():
    found = task_anatomy(lane(850.0, parts=PARTS))
    assert named(found)["not explained"] == pytest.approx(-50)
    assert Kind.UNEXPLAINED not in found.kinds()
    assert sum(cells for _, cells in found.bar(60)) == 60


def test_a_function_of_the_user_has_a_sentence():
    (sentence,) = task_anatomy(lane(parts=PARTS)).functions()
    assert sentence == "work: 650 B, 250 B of it the frame itself; variables: buffer 400 B"
    assert [part.label for part in task_anatomy(lane(parts=PARTS)).parts][:2] == [
        "buffer in work",
        "coroutine work and its frame",
    ]


def test_without_an_answer_the_runtimes_heap_and_the_kernel_are_known():
    found = task_anatomy(lane(3_000.0, heap=1_300_000, idle_heap=300_000, **KERNEL))
    assert named(found) == {
        "live objects, as the runtime counts them": 1_000,
        "other RSS": 2_000,
        "kernel stack": 16_384,
        "kernel objects (slab, sockets)": 6_950,
        "page tables": 4_160,
    }
    assert named(task_anatomy(lane(3_000.0))) == {"RSS": 3_000}


def test_a_cost_that_is_not_known_has_no_parts():
    assert task_anatomy(lane(None)) is None
    unknown_kernel = lane(parts=PARTS, **dict.fromkeys(KERNEL, None))
    assert task_anatomy(unknown_kernel).whole == 1_000


def test_the_smallest_objects_become_one_part():
    many = [TaskPart(f"object {number}", number, 1) for number in range(1, 41)]
    found = task_anatomy(lane(sum(range(41)) + 50.0, parts=[*many, PARTS[1]]))
    short = found.shortened(10)
    assert len(short.parts) == 10
    assert sum(part.bytes for part in short.parts) == pytest.approx(found.whole)
    assert "smaller parts" in " ".join(part.name for part in short.parts)
    assert found.shortened(100) is found


def test_it_is_exported_as_json():
    found = task_anatomy(replace(lane(parts=PARTS))).as_json()
    assert found["memory_per_task"] == 1_000
    assert found["unexplained"] == pytest.approx(100)
    assert found["parts"][0] == {
        "name": "buffer",
        "kind": "function",
        "function": "work",
        "count": 2,
        "bytes": 400,
    }


def test_what_looking_has_taken_is_no_tasks():
    meter = CostMeter()
    meter.set_baseline(Reading(10_000_000, None, 1), None)
    meter.add(Reading(11_000_000, None, 1), Tick(1.0, 1_000, 1_000, 0, 0, 0))
    assert meter.cost.rss == 1_000
    meter.taken += 500_000
    meter.add(Reading(11_500_000, None, 1), Tick(2.0, 1_000, 1_000, 0, 0, 0))
    assert meter.cost.rss == 1_000
