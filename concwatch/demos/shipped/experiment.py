"""A published experiment, repeated here

Threads and coroutines by Jason Brownlee's method, a quick look, beside the published figures.
"""

from concwatch.demos.stage import Stage


async def play(stage: Stage) -> None:
    await stage.press("e")
    await stage.click("memory-per-task")
    await stage.press("k", "enter")
    await stage.caption("A fresh worker for every cell; published figures beside those of this machine")
    await stage.until(lambda lab: stage.sees("✓ done"), text='"✓ done" is shown', limit=180)
    await stage.caption(
        "Published, here, and their ratio: what tracemalloc sees of threads and of coroutines"
    )
    await stage.shot("result")
