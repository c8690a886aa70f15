"""Jobs of a pool of threads: ``future.cancel()`` cancels those that wait, a lock of its own one that runs."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import protocol


def run(stop: threading.Lock, number: int) -> None:
    stop.acquire()
    if not stop.acquire(True, protocol.seconds(number)):
        protocol.ended += 1
        start(number)


def start(number: int) -> None:
    jobs[number] = pool.submit(run, threading.Lock(), number)


jobs = {}
pool = ThreadPoolExecutor(int(sys.argv[4]))
began = protocol.idle()
for number in range(protocol.COUNT):
    start(number)
protocol.live(began)
protocol.answer()
os._exit(0)
