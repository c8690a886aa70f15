"""A service that blocks its event loop, watched

Each login keeps all pages waiting. The event log names the line at the first block, the lag has a mark at each.
"""

from concwatch.demos.stage import Stage

WATCH = ("python", "logins.py")

BLOCKS = 4


async def play(stage: Stage) -> None:
    await stage.until(lambda watching: stage.sees("serve_page"), text='"serve_page" is shown', limit=30)
    await stage.caption("concwatch watch -- python logins.py: why are some pages slow?")
    await stage.film()
    await stage.until(
        lambda watching: watching.events.kinds["block"] > 0, text="a block is called out", limit=60
    )
    await stage.caption("The line that blocks the event loop, and its caller")
    await stage.until(
        lambda watching: watching.blocks.count >= BLOCKS, text=f"{BLOCKS} blocks are marked", limit=90
    )
    await stage.caption("B lists what blocks the loop; the lag has a mark for each")
    await stage.press("B")
    await stage.until(lambda watching: stage.sees("▌hash_password"), text="the block is shown", limit=30)
    await stage.caption("enter: the stack. Hashing belongs in asyncio.to_thread")
    await stage.press("enter")
    await stage.until(lambda watching: stage.sees("↳ login"), text="its stack is shown", limit=30)
    await stage.until(
        lambda watching: watching.blocks.count >= BLOCKS + 2, text="two more blocks are marked", limit=60
    )
    await stage.shot("found")
