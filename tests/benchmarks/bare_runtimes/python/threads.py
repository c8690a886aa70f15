"""Threads, each of which sleeps on a lock of its own: whoever releases it cancels that thread."""

import threading

import protocol


def run(stop: threading.Lock, number: int) -> None:
    stop.acquire()
    if not stop.acquire(True, protocol.seconds(number)):
        protocol.ended += 1  # as exact as needed here
        start(number + protocol.COUNT)


def start(number: int) -> None:
    threading.Thread(target=run, args=(threading.Lock(), number), daemon=True).start()


began = protocol.idle()
for number in range(protocol.COUNT):
    start(number)
protocol.live(began)
protocol.answer()
