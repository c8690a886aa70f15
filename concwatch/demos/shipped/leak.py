"""A service that leaks, watched

One order in fifty leaves a task behind. The table says whose tasks they are, the event log which of them grow.
"""

from concwatch.demos.stage import Stage

WATCH = ("python", "orders.py")


async def play(stage: Stage) -> None:
    await stage.until(lambda watching: stage.sees("Orders.serve"), text='"Orders.serve" is shown', limit=30)
    await stage.caption("concwatch watch -- python orders.py (film: 3 × as fast)")
    await stage.film(speed=3)
    await stage.until(
        lambda watching: watching.events.kinds["leak"] > 0, text="a leak is called out", limit=180
    )
    await stage.caption("A leak: whose tasks never end, and how fast they grow")
    await stage.until(
        lambda watching: stage.sees("▌confirm_later"), text='"▌confirm_later" is shown', limit=120
    )
    await stage.caption("enter: where do they wait?")
    await stage.press("enter")
    await stage.until(lambda watching: stage.sees("wait at"), text='"wait at" is shown', limit=30)
    await stage.caption("The line where its tasks wait: nobody will ever set that future")
    await stage.shot("found")
