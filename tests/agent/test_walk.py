"""The walk through a program's objects runs none of its code, keeps none of them alive, and is bounded."""

import gc
import sys
import threading
import types
import weakref

import pytest

from concwatch.portable.agent.memory.growing import find_growing
from concwatch.portable.agent.memory.starts import MAX_STARTS
from concwatch.portable.agent.memory.walk import MAX_KNOWN, HeapWalk


def refuses(*_, **__):
    raise SystemExit("the program's code was called")


HOSTILE = dict.fromkeys(
    ["__len__", "__iter__", "__eq__", "__hash__", "__getattr__", "__sizeof__", "__bool__", "__getitem__"],
    refuses,
)
HOSTILE["__reversed__"] = HOSTILE["__repr__"] = HOSTILE["__contains__"] = refuses


class Hostile(type):
    """A metaclass with which every question about a class runs code."""

    __eq__ = __getattr__ = __instancecheck__ = __subclasscheck__ = refuses

    def __hash__(cls):
        raise SystemExit("the program's code was called")


@pytest.fixture
def program(monkeypatch):
    """An imported module of a program."""
    module = types.ModuleType("its_program")
    module.__file__ = "/srv/its_program.py"
    monkeypatch.setitem(sys.modules, "its_program", module)
    return module


def hostile_objects():
    """Return instances of classes that run code whenever they are asked something."""
    found = [
        Hostile("Its" + base.__name__, (base,), {**HOSTILE, "held": property(refuses)})()
        for base in (object, list, dict, set, tuple, bytearray)
    ]
    slotted = Hostile("Slotted", (), {**HOSTILE, "__slots__": ("kept", "__weakref__")})()
    object.__setattr__(slotted, "kept", found)
    return [slotted, Hostile("Kind", (), {"__dict__": property(refuses)})]


class Local(threading.local):
    """Runs code for each thread in which its attributes are read."""

    def __init__(self):
        if threading.current_thread().name == "agent":
            refuses()
        self.mine = list(range(10))


def grown(grow=lambda: None, names=("its_program",)):
    """Return what is found to grow in these modules, while ``grow`` is called between the steps."""
    reports = []
    for _ in find_growing(HeapWalk(), reports):
        grow()
    return [one for one in reports if one["holders"] and one["holders"][0]["in"] in names]


def test_no_code_of_the_program_is_called_to_find_what_grows_and_what_holds_it(program):
    program.kept, program.local = [*hostile_objects()], Local()
    program.slotted = hostile_objects()[0]
    found = []

    def grow():
        program.kept.extend(hostile_objects())
        program.slotted.kept.extend(range(5))

    def search():
        found.extend(grown(grow, names=("its_program", __name__)))

    thread = threading.Thread(target=search, name="agent")
    thread.start()
    thread.join()
    assert {one["holders"][0]["name"] for one in found} == {"kept", "Slotted.kept"}


class Leaf:
    """One of many."""


class Thing:
    """Something that can be referenced weakly."""

    def __init__(self):
        self.parts = {number: [number] * 10 for number in range(20)}


def test_nothing_is_kept_alive_between_two_steps_and_no_reference_cycle_is_left(program):
    program.things = {number: Thing() for number in range(500)}
    program.grows = []
    numbers = iter(range(500))

    def drop():
        things = [program.things.pop(next(numbers, None), None) for _ in range(5)]
        references = [weakref.ref(one) for one in things if one is not None]
        del things
        assert [one for one in references if one() is not None] == []
        program.grows.extend(Thing() for _ in range(5))

    gc.collect()
    gc.disable()
    try:
        assert [one["holders"][0]["name"] for one in grown(drop)] == ["grows"]
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        # Threads of other tests may still leave cycles of their own.
        modules = {type(one).__module__ for one in gc.garbage}
        assert not [
            one for one in modules if one == __name__ or str(one).startswith("concwatch.portable.agent")
        ]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_the_walk_is_bounded_whatever_the_size_of_the_heap(program):
    program.tree = [[Leaf() for _ in range(100)] for _ in range(400)]
    walk = HeapWalk()
    for _ in walk.run():
        pass
    assert not walk.is_complete
    assert walk.visited <= MAX_STARTS + 2 * MAX_KNOWN


def test_containers_of_alike_objects_that_grow_are_told_as_one(program):
    program.things = [Thing() for _ in range(50)]
    for one in program.things:
        one.parts = list(range(10))

    def grow():
        for one in program.things:
            one.parts.append(bytes(1_000))

    (found,) = grown(grow, names=(__name__,))
    assert (found["kind"], found["holders"][0]["name"], found["count"]) == ("list", "Thing.parts", 50)


def test_the_variables_of_a_greenlet_that_does_not_run_are_found(program):
    greenlet = pytest.importorskip("greenlet")

    def hoards():
        mine = list(range(10))
        while True:
            mine.append(bytes(1_000))
            greenlet.getcurrent().parent.switch()

    program.job = greenlet.greenlet(hoards)
    (found,) = grown(program.job.switch, names=(hoards.__qualname__, "hoards"))
    assert (found["kind"], found["holders"][0]["name"]) == ("list", "mine")
