"""A small service with a leak: orders are served in a tenth of a second, and some leave a task behind."""

import asyncio
import random

RETRIES: set[asyncio.Task[None]] = set()


class Orders:
    """Serves orders."""

    def __init__(self) -> None:
        self.rest = asyncio.Semaphore(200)

    async def serve(self) -> None:
        """Serve one order."""
        async with self.rest:
            await self.price()
            await asyncio.create_task(self.store())

    async def price(self) -> None:
        """Look up the price."""
        await asyncio.sleep(random.expovariate(1 / 0.08))

    async def store(self) -> None:
        """Store the order."""
        await asyncio.sleep(random.expovariate(1 / 0.03))


async def confirm_later(order: dict[str, bytearray]) -> None:
    """Wait for the customer's confirmation, which never arrives: this is the leak."""
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    order["page"] = bytearray(b"x" * 100_000)
    await answer


async def main() -> None:
    """Accept about 250 orders a second; one in fifty needs a confirmation."""
    orders, chance, pending = Orders(), random.Random(7), set[asyncio.Task[None]]()
    while True:
        for _ in range(chance.randint(0, 5)):
            task = asyncio.create_task(orders.serve())
            pending.add(task)
            task.add_done_callback(pending.discard)
            if chance.random() < 0.02:
                RETRIES.add(asyncio.create_task(confirm_later({})))
        await asyncio.sleep(0.01)


asyncio.run(main())
