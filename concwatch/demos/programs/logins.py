"""A small service that blocks its event loop: pages take milliseconds, but logins hash a password."""

import asyncio
import hashlib
import random


def hash_password(password: bytes) -> bytes:
    """Hash a password, which is slow on purpose: in the event loop, this is the mistake."""
    return hashlib.pbkdf2_hmac("sha256", password, b"salt", 500_000)


async def login(user: str) -> None:
    """Log a user in."""
    await asyncio.sleep(0.01)
    hash_password(user.encode())


async def load_page() -> None:
    """Load a page from the database."""
    await asyncio.sleep(random.expovariate(1 / 0.02))


async def serve_page() -> None:
    """Serve a page."""
    await asyncio.create_task(load_page())


async def main() -> None:
    """Serve about 200 pages a second; every few seconds somebody logs in, first after five."""
    chance, pending = random.Random(17), set[asyncio.Task[None]]()
    while True:
        wanted = [serve_page() for _ in range(chance.randint(0, 4))]
        if chance.random() < 0.004:
            wanted.append(login("ada"))
        for one in wanted:
            task = asyncio.create_task(one)
            pending.add(task)
            task.add_done_callback(pending.discard)
        await asyncio.sleep(0.01)


asyncio.run(main())
