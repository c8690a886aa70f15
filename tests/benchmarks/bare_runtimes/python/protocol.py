"""What all bare programs do around their tasks: their arguments, and the lines that they read and write."""

import gc
import sys
import time

COUNT, LEAST, MOST = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])

ended = 0
"""Tasks that have ended by themselves."""

collecting = longest = began = 0.0
"""Seconds spent in garbage collection, the longest one, and the start of the current one."""


def _on_collection(phase: str, info: dict) -> None:
    global began, collecting, longest
    if phase == "start":
        began = time.perf_counter()
    else:
        took = time.perf_counter() - began
        collecting, longest = collecting + took, max(longest, took)


def seconds(number: int) -> float:
    """Return how long the task of that number sleeps: from LEAST to MOST seconds, spread evenly."""
    return LEAST + (MOST - LEAST) * (number * 0.6180339887498949 % 1)


def answer() -> None:
    """Answer each line of the input with the number of tasks that have ended; return at its end."""
    global longest
    for _ in sys.stdin:
        print(f"ended {ended} {collecting} {longest}", flush=True)
        longest = 0.0


def idle() -> float:
    """Report that nothing has been created; return the time at which to begin."""
    gc.callbacks.append(_on_collection)
    print("idle", flush=True)
    sys.stdin.readline()
    return time.monotonic()


def live(began: float) -> None:
    """Report how long creating all tasks took."""
    print("live", time.monotonic() - began, flush=True)
