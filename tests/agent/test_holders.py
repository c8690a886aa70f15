"""What grows in a program is found, and what holds it named, in each Python."""

import json
import subprocess

import pytest

from tests.agent_driver import EVERY, NEWEST

pytestmark = pytest.mark.real

PROGRAM = """
import array, asyncio, atexit, collections, contextlib, contextvars, functools, itertools, json
import logging.handlers, queue, sys, threading, weakref
from concwatch.portable.agent.memory.objects import find_what_grows

class Session:
    def __init__(self, number): self.user, self.data = f"user {number}", bytearray(1000)

class Hub:
    seen = []
    def __init__(self): self.connections, self.stack = {}, contextlib.ExitStack()

class Slotted:
    __slots__ = ("items",)
    def __init__(self): self.items = set()

class Registry(dict):
    pass

responses, hub, slotted, registry, topics = {}, Hub(), Slotted(), Registry(), {"a": [], "b": {}}
by_user = collections.defaultdict(list)
recent, ordered, total = collections.deque(), collections.OrderedDict(), collections.Counter()
simple_queue, thread_queue = queue.SimpleQueue(), queue.Queue()
current = contextvars.ContextVar("current", default=[])
context = contextvars.copy_context()
context.run(current.set, [])
log = logging.getLogger("requests")
log.propagate = False
log.addHandler(logging.handlers.MemoryHandler(10**9, flushLevel=100))
alive, by_number = [], weakref.WeakValueDictionary()
full, bounded = dict.fromkeys(range(1000)), collections.deque(maxlen=1000)

@functools.lru_cache(maxsize=None)
def lookup(number):
    return blob(number)

@functools.lru_cache(maxsize=10**9)
def lookup_most(number):
    return blob(number)

def mutable(number, cache={}):
    cache[number] = blob(number)

def makes_closure():
    kept = []
    def adds(number): kept.append(Session(number))
    return adds

adds = makes_closure()

def attribute(number):
    attribute.kept.append(Session(number))
attribute.kept = []

def blob(number):
    return b"x" * 1000 + b"%d" % number

def makes_generator():
    mine = []
    while True:
        mine.append(Session((yield)))
generator = makes_generator()
next(generator)

async def takes(q):
    while True:
        await q.get()
        await asyncio.sleep(3600)

async def puts(q, numbers):
    mine = []
    while True:
        mine.append(await numbers.get())
        q.put_nowait(blob(mine.pop()))

def of_user(number):
    by_user[f"user {number % 50}"].append(blob(number))

def counts(number):
    total[number] += 1

local = threading.local()
local.mine = []

buffer, numbers_of, words = bytearray(), array.array("d"), collections.Counter()
scores = {f"name {number}": number for number in range(1000)}
source = itertools.count()
slow, fast = itertools.tee(source)

class Job:
    def cleanup(self, number): pass

def expires(number): pass

def is_dropped(job): pass

job = Job()

def exits(number): pass

def holds_weakly(number):
    alive.append(Session(number))
    by_number[number] = alive[-1]
    del alive[:-100]

def is_full(number):
    full[number % 1000] = blob(number)
    bounded.append(blob(number))

def is_flushed(number):
    recent.append(number)
    if len(recent) > 300: recent.clear()

KINDS = {
    "a global": lambda number: responses.update({str(number): blob(number)}),
    "an attribute": lambda number: hub.connections.update({number: Session(number)}),
    "of a class": lambda number: Hub.seen.append(Session(number)),
    "a slot": lambda number: slotted.items.add(Session(number)),
    "a subclass": lambda number: registry.update({number: Session(number)}),
    "in a dictionary": lambda number: topics["a"].append(Session(number)),
    "of text": lambda number: topics["b"].update({str(number): blob(number)}),
    "many": of_user,
    "a deque": lambda number: recent.append(blob(number)),
    "ordered": lambda number: ordered.update({number: blob(number)}),
    "a counter": counts,
    "a cache": lookup,
    "a bounded cache": lookup_most,
    "a default": mutable,
    "a closure": adds,
    "of a function": attribute,
    "a generator": generator.send,
    "a variable": None,
    "a queue of threads": lambda number: thread_queue.put(blob(number)),
    "a simple queue": lambda number: simple_queue.put(blob(number)),
    "a queue": lambda number: numbers.put_nowait(number),
    "a handler": lambda number: log.critical("request %d %s", number, "x" * 500),
    "a context": lambda number: context.run(lambda: current.get().append(Session(number))),
    "of numbers": lambda number: scores.update({f"name {number}": number}),
    "of words": lambda number: words.update([f"word {number}"]),
    "a thread local": lambda number: local.mine.append(Session(number)),
    "bytes": lambda number: buffer.extend(blob(number)),
    "an array": lambda number: numbers_of.extend(range(number, number + 100)),
    "an exit stack": lambda number: hub.stack.callback(expires, number),
    "an iterator": lambda number: next(fast),
    "timers": lambda number: loop.call_later(10_000, expires, Session(number)),
    "finalizers": lambda number: weakref.finalize(job, is_dropped, Session(number)),
    "loggers": lambda number: logging.getLogger(f"logger {number}"),
    "at exit": lambda number: atexit.register(exits, number),
    "weak": holds_weakly,
    "full": is_full,
    "flushed": is_flushed,
}

def find(grow, loop):
    number = 1000
    reports = []
    for _ in find_what_grows(reports.append):
        for _ in range(100):
            grow(number)
            number += 1
        loop.run_until_complete(asyncio.sleep(0))
    return reports[0]["containers"]

def runs(loop):
    mine, reports = [Session(number) for number in range(200)], []
    for _ in find_what_grows(reports.append):
        for number in range(100): mine.append(Session(number))
    return reports[0]["containers"]

heap = [{"number": number, "values": [1.5]} for number in range(int(sys.argv[1]) // 2)]

def main():
    global loop
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    async def start():
        global numbers
        numbers, q = asyncio.Queue(), asyncio.Queue()
        return [asyncio.ensure_future(one) for one in (takes(q), puts(q, numbers))]
    tasks = loop.run_until_complete(start())
    loop.run_until_complete(asyncio.sleep(0))
    found = {}
    for kind, grow in KINDS.items():
        if grow is not None:
            for number in range(300): grow(number)
        loop.run_until_complete(asyncio.sleep(0))
        found[kind] = runs(loop) if grow is None else find(grow, loop)
    atexit.unregister(exits)
    loop._scheduled.clear()
    for task in tasks: task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
    print(json.dumps(found))

main()
"""

EXPECTED = {
    "a global": ("dict", "", "responses"),
    "an attribute": ("dict", "", "Hub.connections"),
    "of a class": ("list", "", "Hub.seen"),
    "a slot": ("set", "", "Slotted.items"),
    "a subclass": ("__main__.Registry", "", "registry"),
    "in a dictionary": ("list", "dict", "topics"),
    "of text": ("dict", "dict", "topics"),
    "many": ("list", "collections.defaultdict", "by_user"),
    "a deque": ("collections.deque", "", "recent"),
    "ordered": ("collections.OrderedDict", "", "ordered"),
    "a counter": ("collections.Counter", "", "total"),
    "a cache": ("functools.lru_cache", "", ""),
    "a bounded cache": ("functools.lru_cache", "", ""),
    "a default": ("dict", "", "cache"),
    "a closure": ("list", "", "kept"),
    "of a function": ("list", "", "attribute.kept"),
    "a generator": ("list", "", "mine"),
    "a variable": ("list", "", "mine"),
    "a queue of threads": ("queue.Queue", "", "thread_queue"),
    "a simple queue": ("queue.SimpleQueue", "", "simple_queue"),
    "a queue": ("asyncio.Queue", "", "q"),
    "a handler": ("logging.handlers.MemoryHandler", "logging.Logger", "log"),
    "a context": ("list", "contextvars.ContextVar", "current"),
    "of numbers": ("dict", "", "scores"),
    "of words": ("collections.Counter", "", "words"),
    "a thread local": ("list", "threading.local", "local"),
    "bytes": ("bytearray", "", "buffer"),
    "an array": ("array.array", "", "numbers_of"),
    "an exit stack": ("contextlib.ExitStack", "", "Hub.stack"),
    "an iterator": ("itertools.tee", "", "slow"),
    "timers": ("asyncio.unix_events._UnixSelectorEventLoop", "", "loop"),
    "finalizers": ("dict", "", "finalize._registry"),
    "loggers": ("logging.Manager", "logging.Logger", "log"),
    "at exit": ("atexit", "", ""),
    "weak": None,
    "full": None,
    "flushed": None,
}
"""The type, what that is in, and the name of what holds it; None: nothing grows."""

FUNCTIONS = {
    "a cache": {"lookup"},
    "a bounded cache": {"lookup_most"},
    "a default": {"mutable"},
    "a closure": {"makes_closure.<locals>.adds", "adds"},
    "of a function": {"attribute"},
    "a generator": {"makes_generator"},
    "a variable": {"runs"},
    "a queue": {"takes", "puts"},
}
"""The functions that hold it; else the module does."""


@pytest.mark.parametrize(
    ("python", "heap"),
    [*((python, 1_000) for python in EVERY.values()), (NEWEST, 1_000_000)],
    ids=[*EVERY, "a large heap"],
)
def test_what_grows_is_found_with_what_holds_it_and_nothing_else(python, heap, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {"PYTHONPATH": ".", "PATH": ""}
    ended = subprocess.run(
        [python, str(script), str(heap)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.stderr == ""
    found = json.loads(ended.stdout)
    assert list(found) == list(EXPECTED)
    if not found["a simple queue"]:  # since Python 3.13 the items are in no list
        del found["a simple queue"]
    for kind, containers in found.items():
        expected = EXPECTED[kind]
        if expected is None:
            assert (kind, containers) == (kind, [])
            continue
        assert (kind, len(containers)) == (kind, 1), containers
        (container,) = containers
        if kind == "at exit":
            assert (container["kind"], container["bytes"]) == ("atexit", None)
            continue
        holder = container["holders"][0]
        assert (container["kind"], container["within"], holder["name"]) == expected
        assert container["items"] > container["grown"] > 100
        functions = FUNCTIONS.get(kind)
        if kind == "finalizers":
            assert (holder["in"], container["function"]["in"]) == ("weakref", "is_dropped")
        elif functions is None:
            assert (holder["in"], holder["where"]) == ("__main__", str(script))
        else:
            assert {one["in"] for one in container["holders"]} <= functions
            assert all(one["where"].startswith(f"{script}:") for one in container["holders"])
