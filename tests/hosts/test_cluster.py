"""The workers of a Dask cluster as hosts, with a real cluster of two; invalid clusters."""

import asyncio
import contextlib
import socket
import subprocess
import sys

import psutil
import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.hosts.link import BridgeProgram, HostLink
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from tests.command_line import invoke, refused
from tests.host_driver import Remote, all_ended, eventually, kill_run
from tests.lab_driver import ENGINES

pytest.importorskip("distributed", reason="distributed is not installed: pip install 'concwatch[dask]'")

MIB = 1 << 20


@pytest.fixture(scope="module")
def cluster():
    from concwatch.hosts.cluster import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("concwatch.hosts.cluster.POLL_INTERVAL", 0.1)
        found = Cluster("local:2")
        yield found
        found.close()


@contextlib.asynccontextmanager
async def running(cluster):
    """Run a lab with a lane on each worker of the cluster."""
    lanes = [ENGINES["asyncio"].on(host) for host in cluster.hosts]
    lab = Lab(
        lanes,
        open_link=open_process,
        settings=Settings("payload:16KiB"),
        cluster=lambda: cluster.hosts,
        reconnect=True,
    )
    run = asyncio.create_task(lab.run())
    try:
        yield lab
    finally:
        run.cancel()
        await lab.close()


@pytest.mark.real
async def test_a_worker_runs_below_a_dask_worker_and_ends_with_its_link(cluster):
    remote = Remote(HostLink(cluster.hosts[0], BridgeProgram("asyncio")))
    pid = await remote.ready()
    bridge = remote.bridge
    assert bridge.parent().pid in {child.pid for child in dask_workers()}
    await remote.until(lambda: remote.link.reading() is not None and remote.link.delay is not None)
    await remote.start_tasks(10_000)
    remote.link.kill()
    await remote.end()
    await all_ended(pid, bridge.pid)


def dask_workers():
    """Return the processes of Dask workers below this one."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            if "multiprocessing.spawn" in " ".join(each.cmdline()):
                found.append(each)
    return found


@pytest.mark.real
async def test_large_output_is_accepted_and_a_missing_python_is_reported(cluster):
    host = cluster.hosts[0]
    code = "import sys; [print('x' * 200_000, file=sys.stderr) for _ in range(40)]"
    assert (await Remote(cluster.open(host, code, b"")).end()).reason.startswith("exited with status 0")
    missing = cluster.open(type(host)("dask0", (), "no-such-python", opener=cluster.open), "", b"")
    assert (await Remote(missing).end()).reason.startswith("could not be started: ")


@pytest.mark.real
async def test_lanes_follow_dask_workers_that_are_killed_restarted_join_and_leave(cluster):
    async with running(cluster) as lab:
        for lane in lab.lanes:
            lab.set_target(lane, 1_000)
        await eventually(lambda: all(lane.live == 1_000 for lane in lab.lanes), lambda: lab.events.since(0))
        scheduler = cluster._client.scheduler.address
        late = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--name", "late"),
            *("--no-nanny", "--no-dashboard", "--nthreads", "1", "--memory-limit", "384MiB"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            victim = psutil.Process(lab.lanes[0].worker.stats.ready.pid).parent().parent()
            victim.kill()
            await eventually(lambda: lab.lanes[0].state is State.LOST, lambda: lab.events.since(0))
            # Dask's nanny starts it again.
            await eventually(lambda: lab.lanes[0].live == 1_000, lambda: lab.events.since(0))

            await eventually(lambda: len(lab.lanes) == 3, lambda: lab.events.since(0))
            (lane,) = (lane for lane in lab.lanes if lane.engine.host.name == "late")
            lab.set_target(lane, 1_000_000)
            await eventually(lambda: lane.target.limit, lambda: lab.events.since(0))
            assert lane.target.limit.name == "memory budget"
            assert 50 * MIB < lab.host_of(lane).capacity.budget.size < 0.8 * 384 * MIB
        finally:
            late.terminate()
            await late.wait()
        await eventually(lambda: lane.state.broken, lambda: lab.events.since(0))
        await eventually(lambda: not lab.host_of(lane).present, lambda: lab.events.since(0))
        assert lane.engine.host not in cluster.hosts


@pytest.mark.real
async def test_lanes_are_lost_when_the_scheduler_is_killed():
    from concwatch.hosts.cluster import Cluster

    before = psutil.Process().children()
    own = Cluster("local:1")
    try:
        (process,) = (each for each in psutil.Process().children() if each not in before)
        async with running(own) as lab:
            (lane,) = lab.lanes
            lab.set_target(lane, 1_000)
            await eventually(lambda: lane.live == 1_000, lambda: lab.events.since(0))
            pid = lane.worker.stats.ready.pid
            process.kill()
            await eventually(lambda: lane.state is State.LOST, lambda: lab.events.since(0))
            assert lane.worker.life.reason == "the connection ended: the scheduler of the cluster is gone"
            await all_ended(pid)
    finally:
        own.close()


@pytest.mark.real
def test_run_and_hosts_accept_the_address_of_a_cluster(cluster):
    address = ("--cluster", cluster._client.scheduler.address)
    done = invoke("run", "asyncio", "--tasks", 1_000, "--seconds", 0, "--together", *address)
    assert done.exit_code == 0, done.output
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:4]] == [
        "asyncio · dask0",
        "asyncio · dask1",
        "asyncio, 2 hosts",
    ]
    rows = invoke("hosts", *address).stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["dask0", "dask1"]


@pytest.mark.real
def test_killing_concwatch_ends_its_local_cluster():
    assert kill_run("--cluster", "local:1") >= 4  # the cluster, a Dask worker, a bridge and a worker


@pytest.mark.real
def test_an_unreachable_or_older_cluster_is_a_one_line_error(cluster, monkeypatch):
    def message(address):
        return refused("run", "asyncio", "--tasks", 1, "--cluster", address)

    monkeypatch.setattr("concwatch.hosts.cluster.OLDEST", 2999)
    assert "and distributed 20" in message(cluster._client.scheduler.address)
    assert "nonsense://127.0.0.1:1: unknown address scheme" in message("nonsense://127.0.0.1:1")
    monkeypatch.setattr("concwatch.hosts.cluster.CONNECT_TIMEOUT", 0.3)
    assert "tcp://127.0.0.1:1: no Dask scheduler answered within " in message("tcp://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        assert f"{address}: no Dask scheduler answered within " in message(address)


def test_an_invalid_cluster_or_a_missing_package_is_a_one_line_error(monkeypatch):
    for wrong in ("local:0", "local:x", "scheduler", "tcp://a b:1"):
        assert f'"{wrong}" is not a cluster; expected the address of a Dask scheduler' in refused(
            "hosts", "--cluster", wrong
        )
    monkeypatch.setitem(sys.modules, "concwatch.hosts.cluster", None)
    assert refused("hosts", "--cluster", "local:1").startswith(
        "--cluster needs distributed: pip install 'concwatch[dask]'"
    )
