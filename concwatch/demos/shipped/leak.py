"""A service that leaks, watched

One order in fifty leaves a task behind. The table says whose tasks they are, the event log which of them grow.
"""

from concwatch.demos.stage import Stage

SIZE = "120x40"
WATCH = ("python", "orders.py")


async def play(stage: Stage) -> None:
    await stage.until(lambda watching: stage.sees("Orders.serve"), text='"Orders.serve" is shown', limit=30)
    await stage.caption(
        "concwatch watch -- python orders.py: memory climbs, while orders are served as usual"
    )
    await stage.film()
    await stage.until(
        lambda watching: watching.events.kinds["leak"] > 0, text="a leak is called out", limit=180
    )
    await stage.caption("Reported: the coroutine whose tasks never end, how fast they grow, where they wait")
    told = stage.lab.clock()
    await stage.until(lambda watching: watching.clock() - told > 5, text="5 s have passed", limit=30)
    await stage.until(
        lambda watching: stage.sees("▌confirm_later"), text='"▌confirm_later" is shown', limit=30
    )
    await stage.press("enter")
    await stage.until(lambda watching: stage.sees("wait at"), text='"wait at" is shown', limit=30)
    await stage.caption("⏎ shows the line where its tasks wait: nobody will ever set that future")
    await stage.shot("found")
    found = stage.lab.clock()
    await stage.until(lambda watching: watching.clock() - found > 5, text="5 s have passed", limit=30)
