"""A million tasks over eight connections to one machine

One slider for eight lanes; here each host is another connection to this machine. Unfolded, each has a row of
its own, and the charts show the median and the band in which all lie.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)
HOSTS = {f"web{number}": f"env HOST=web{number}" for number in range(1, 9)}


async def play(stage: Stage) -> None:
    await stage.caption(
        "One engine on eight hosts: a host is any command that reaches it; nothing is installed"
    )
    await stage.press("t")
    await stage.type("w", "hold")
    await stage.press("1", "space")
    await stage.until(lambda lab: all(lane.on for lane in lab.lanes), text="eight lanes run")
    await stage.film()
    await stage.caption("One slider: a million tasks, split by what each host can hold")
    await stage.type("enter", "1000000")
    await stage.until(
        lambda lab: sum(lane.live for lane in lab.lanes) == 1_000_000,
        text="a million tasks are live",
        limit=240,
    )
    await stage.caption("Memory is the sum; what a task costs is the same everywhere")
    await stage.shot("million")
    await stage.press("h", "d")
    await stage.caption("Each host separately")
    await stage.until(lambda lab: stage.sees("web8"), text="eight rows are shown")
    await stage.shot("each")
