"""2,000 threads beside a pool of 200 with 2,000 jobs

Threads all sleep at once; of a pool's jobs only as many run as it has threads.
"""

from concwatch.demos.stage import Stage


async def play(stage: Stage) -> None:
    def pool_is_slower(figure: str) -> bool:
        return stage.lane("pool").figure(figure) < 200 and stage.lane("threads").figure(figure) > 300

    await stage.press("t")
    await stage.type("w", "sleep:2")
    await stage.type("n", "200")
    await stage.switch("threads")
    await stage.switch("pool")
    await stage.until(lambda lab: stage.lane("pool").on, text="pool runs")
    await stage.until(lambda lab: stage.lane("threads").on, text="threads run")
    await stage.caption("2,000 threads sleep 2 s each, all at the same time")
    await stage.drag("threads", "2k")
    await stage.until(
        lambda lab: stage.lane("threads").figure("completed_mean") > 100,
        text="more than 100 threads end a second",
    )
    await stage.caption("2,000 jobs of a pool: they are light, but wait for one of its 200 threads")
    await stage.drag("pool", "2k")
    await stage.until(
        lambda lab: stage.lane("pool").figure("queued") > 1_000, text="more than 1,000 jobs wait"
    )
    await stage.until(lambda lab: stage.lane("pool").settled, text="pool has settled")
    await stage.caption(
        "A job costs a fraction of a thread, but fewer end per second with 200 threads than with 2,000"
    )
    await stage.until(
        lambda lab: stage.lane("pool").held(12), text="pool has held its target for 12 s", limit=60
    )
    await stage.until(
        lambda lab: pool_is_slower("completed_mean"), text="fewer jobs than threads end a second"
    )
    await stage.until(
        lambda lab: pool_is_slower("completed_per_second"), text="fewer jobs than threads end now"
    )
    await stage.shot("both")
