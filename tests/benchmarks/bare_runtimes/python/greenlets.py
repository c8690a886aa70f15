"""Greenlets of gevent: ``greenlet.kill()`` cancels any of them."""

import os

import gevent
import gevent.threadpool
import protocol


def ended(greenlet: gevent.Greenlet) -> None:
    protocol.ended += 1
    live.discard(greenlet)
    start()


def start() -> None:
    global number
    number += 1
    greenlet = gevent.spawn(gevent.sleep, protocol.seconds(number))
    greenlet.rawlink(ended)
    live.add(greenlet)


number, live = 0, set()
began = protocol.idle()
for _ in range(protocol.COUNT):
    start()
gevent.sleep(0)
protocol.live(began)
gevent.threadpool.ThreadPool(1).spawn(lambda: (protocol.answer(), os._exit(0))).get()
