"""No value of a program leaves it: a secret is planted wherever it keeps one, and looked for in all reports.

The exceptions are the names of executors (``thread_name_prefix``) and of children of multiprocessing.
"""

import json

import pytest

from tests.agent_driver import eventually, finish, oldest_and_newest

pytestmark = pytest.mark.real

SECRET = "hunter2"

PROGRAM = """
import asyncio, concurrent.futures, contextvars, functools, logging, os, sys, threading, time
logging.disable(logging.CRITICAL)
SECRET = os.environ["TOKEN"]
assert sys.argv[1] == SECRET
current = contextvars.ContextVar(SECRET, default=SECRET)
current.set(SECRET)

class Lock(asyncio.Lock):
    name = SECRET
    def __repr__(self): return SECRET
    __str__ = __repr__

class Awaitable:
    def __init__(self, token): self.token = token
    def __repr__(self): return self.token
    def __await__(self): return (yield from asyncio.sleep(600, self.token).__await__())

class Service:
    def __init__(self, token): self.token = self.__doc__ = token
    def __repr__(self): return self.token
    async def serve(self, token=SECRET): await asyncio.sleep(600, token)
    def __call__(self, token): time.sleep(600)

async def holds(lock, password=SECRET):
    async with lock:
        await asyncio.sleep(600, password)
async def waits(lock, password):
    secret = {"token": password, password: [password]}
    async with lock: return secret
async def gets(queue): await queue.get()
async def awaits(thing): return await thing
async def fails(password): raise ValueError(password)
async def forgets(password): await asyncio.sleep(600, password)
async def streams(password):
    while True:
        yield password
        await asyncio.sleep(0.01)
async def reads(password):
    async for part in streams(password): assert part == password
def blocks(password, *more, **named):
    secret = password * 2
    ends = time.monotonic() + 0.3
    while time.monotonic() < ends: secret[0]
async def blocked(password):
    await asyncio.sleep(0.05)
    blocks(password, password, named=password)
def works(password): time.sleep(600)
def sleeps(password=SECRET, event=None):
    secret = password
    threading.Event().wait()

kept = {SECRET: {SECRET: [SECRET]}}
async def grows(number=0):
    current.set([SECRET])
    while True:
        kept[SECRET][f"{SECRET} {number}"] = current.get() + [SECRET]
        current.get().append(Service(SECRET))
        number += 1
        await asyncio.sleep(0.001)

async def main():
    loop = asyncio.get_running_loop()
    lock, queue, future = Lock(), asyncio.Queue(), loop.create_future()
    full = asyncio.Queue(1)
    full.put_nowait(SECRET)
    pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="pool")
    submitted = [pool.submit(works, SECRET) for _ in range(3)]
    for target in (sleeps, functools.partial(sleeps, SECRET), functools.partial(Service(SECRET), SECRET)):
        threading.Thread(target=target, name=SECRET, daemon=True).start()
    coroutines = [
        holds(lock), waits(lock, SECRET), gets(queue), full.put(SECRET), awaits(future),
        awaits(Awaitable(SECRET)), Service(SECRET).serve(), reads(SECRET),
        asyncio.wait_for(forgets(SECRET), 600),
        functools.partial(waits, lock)(SECRET), grows(),
    ]
    tasks = [asyncio.create_task(one, name=SECRET) for one in coroutines]
    failed = [asyncio.create_task(fails(SECRET), name=SECRET) for _ in range(5)]
    while sys.stdin in (await asyncio.sleep(0.1, [sys.stdin])):
        await blocked(SECRET)
        if os.path.exists(SECRET_FILE): break
    loop.create_task(forgets(SECRET), name=SECRET)
    await asyncio.sleep(0)

SECRET_FILE = sys.argv[2]
try: asyncio.run(main())
finally: os._exit(0)
"""


@oldest_and_newest
def test_a_secret_in_every_kind_of_value_is_in_no_report(monitor, python, tmp_path):
    end = tmp_path / "end"
    program = monitor.start(
        PROGRAM, SECRET, str(end), python=python, TOKEN=SECRET, options=["outcomes", "blocked-after:0.1"]
    )
    process = monitor.process()
    for name in ("holds", "waits", "gets", "awaits", "serve", "reads", "forgets"):
        group = process.group(name)
        process.send("waits", group=group["group"])
        process.wait("waits", lambda report, number=group["group"]: report["group"] == number)
    process.group("fails", failed=5)
    for target in {one["name"] for one in process.tick(lambda tick: tick.get("threads"))["threads"]}:
        process.send("thread_waits", name=target)
        process.wait("thread_waits", lambda report, name=target: report["name"] == name)
    process.send("objects")
    holders = [holder["name"] for one in process.wait("objects")["containers"] for holder in one["holders"]]
    assert {"kept", "current"} & {*holders}
    process.apply("trace", on=True)
    process.send("lines")
    process.wait("lines")
    process.tick(lambda tick: tick.get("executors"))
    process.wait("block", lambda block: any(frame["in"] == "blocks" for frame in block.get("stack", ())))
    process.send("unknown command " + "x" * 10)
    process.wait("error")
    end.touch()
    assert finish(program) == ""
    eventually(lambda: process.closed, "the end of the connection")
    text = json.dumps(list(process.messages), ensure_ascii=False)
    assert SECRET not in text, text[max(0, text.index(SECRET) - 300) :][:600]
