"""Tasks on asyncio's loop, or uvloop's: ``task.cancel()`` cancels any of them."""

import asyncio
import os
import sys
import threading

import protocol


def ended(task: asyncio.Task) -> None:
    protocol.ended += 1
    start()


def start() -> None:
    global number
    number += 1
    create(asyncio.sleep(protocol.seconds(number))).add_done_callback(ended)


async def main() -> None:
    global create
    create = asyncio.get_running_loop().create_task
    began = protocol.idle()
    for _ in range(protocol.COUNT):
        start()
    await asyncio.sleep(0)
    protocol.live(began)
    threading.Thread(target=lambda: (protocol.answer(), os._exit(0)), daemon=True).start()
    await asyncio.sleep(3600)


number = 0
if sys.argv[4] == "uvloop":
    import uvloop

    uvloop.run(main())
else:
    asyncio.run(main())
