"""A million tasks over eight connections to one machine

One slider for eight lanes; here each host is another connection to this machine. Unfolded, each has a row of
its own.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)
HOSTS = {f"here{number}": f"env CONNECTION={number}" for number in range(1, 9)}


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "hold")
    await stage.press("1", "space")
    await stage.until(
        lambda lab: all(stage.lane(f"asyncio · {host}").on for host in HOSTS),
        text="eight lanes run",
        limit=60,
    )
    await stage.caption("Eight connections, as to eight hosts; here all are to this machine")
    await stage.film()
    await stage.caption("One slider: a million tasks, divided among the connections")
    await stage.type("enter", "1000000")
    await stage.until(
        lambda lab: sum(lane.live for lane in lab.lanes) == 1_000_000,
        text="a million tasks are live",
        limit=240,
    )
    await stage.caption("Memory is the sum; what a task costs is the same in each")
    await stage.shot("million")
    await stage.press("h")
    await stage.caption("Each of the eight connections to this machine separately")
    await stage.until(lambda lab: stage.sees("here8"), text="eight rows are shown")
    await stage.shot("each")
