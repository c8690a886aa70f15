"""A minimal worker that a test can make misbehave."""

import sys

TOY = r"""
import json, os, queue, sys, threading, time

lock, targets, quiet = threading.Lock(), queue.Queue(), threading.Event()

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
            targets.put(command["tasks"])
        else:
            write(line(type="applied", command=command["type"], seconds=0))
    os._exit(0)

def start():
    write(line(type="ready", engine="toy", runtime="Toy 1.0", pid=os.getpid()))
    threading.Thread(target=keep_ticking, daemon=True).start()
    threading.Thread(target=listen, daemon=True).start()

"""
"""The source of a correct worker. Scripts appended to it start it and misbehave."""

PROLOGUE = "start()\ntargets.get()\n"
"""Starts it and waits for the first target."""

TOO_MANY = "more than 100 invalid lines"


def command(script: str) -> list[str]:
    """Return the command of a worker that runs ``script``."""
    return [sys.executable, "-c", TOY + script]
