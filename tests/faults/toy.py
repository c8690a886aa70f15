"""A worker of a few lines, which keeps to the wire until a test has it misbehave."""

import sys

TOY = r"""
import json, os, queue, sys, threading, time

lock, asked, quiet = threading.Lock(), queue.Queue(), threading.Event()

def write(data, file=1):
    with lock:
        while data:
            data = data[os.write(file, data):]

def line(**fields):
    return (json.dumps(fields) + "\n").encode()

def tick(created=0, live=0, completed=0, **more):
    fields = dict(time=time.monotonic(), failed=0, cancelled=0)
    return line(type="tick", created=created, live=live, completed=completed, **{**fields, **more})

def keep_ticking():
    while True:
        if not quiet.is_set():
            write(tick())
        time.sleep(0.05)

def listen():
    for text in sys.stdin:
        command = json.loads(text)
        if command["type"] == "stop":
            break
        if command["type"] == "target":
            asked.put(command["tasks"])
        else:
            write(line(type="applied", command=command["type"], seconds=0))
    os._exit(0)

def stand():
    write(line(type="ready", engine="toy", runtime="Toy 1.0", pid=os.getpid()))
    threading.Thread(target=keep_ticking, daemon=True).start()
    threading.Thread(target=listen, daemon=True).start()

"""
"""A worker that keeps to the wire until it is asked for its first target, then misbehaves."""

BEGINS = "stand()\nasked.get()\n"
TOO_MANY = "more than 100 invalid lines"


def command(script: str) -> list[str]:
    """Return the command of a worker that runs ``script`` behind the functions above."""
    return [sys.executable, "-c", TOY + script]
