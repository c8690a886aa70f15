"""What RSS of a process is made of, as its agent says: its maps, and what malloc keeps."""

import json
import os
import sys

import pytest

from concwatch.links.agent_messages import decode_report
from concwatch.monitor.verdicts.rss_parts import rss_parts
from concwatch.portable.agent.memory import malloc
from concwatch.portable.agent.memory.memory import find_memory, longest_pause
from concwatch.portable.agent.memory.memory_maps import HEAP, OTHER, STACKS, WRITTEN, MemoryMaps
from tests.agent_driver import finish, oldest_and_newest

LINUX = sys.platform.startswith("linux")

MAPS = """\
55d0c0000000-55d0c0100000 rw-p 00000000 00:00 0                          [heap]
Rss:                 512 kB
Anonymous:           512 kB
VmFlags: rd wr mr mw me ac
7f0000000000-7f0000021000 rw-p 00000000 00:00 0
Anonymous:           100 kB
7f0000021000-7f0004000000 ---p 00000000 00:00 0
Anonymous:             0 kB
7f0004000000-7f0004010000 rw-p 00000000 00:00 0
Anonymous:            16 kB
VmFlags: rd wr mr mw me ac
7f0010000000-7f0010001000 ---p 00000000 00:00 0
Anonymous:             0 kB
7f0010001000-7f0010801000 rw-p 00000000 00:00 0
Anonymous:             8 kB
VmFlags: rd wr mr mw me ac nh
7f0010801000-7f0010900000 rw-p 00000000 00:00 0                          [anon: python]
Anonymous:            32 kB
VmFlags: rd wr mr mw me ac
7f0020000000-7f0020100000 r-xp 00000000 fe:00 7                          /usr/lib/libc.so.6
Rss:                 900 kB
Anonymous:             4 kB
7f0030000000-7f0038000000 rw-p 00000000 00:00 0
Anonymous:         70000 kB
VmFlags: rd wr mr mw me nr
7f0038000000-7f003bffe000 rw-p 00000000 00:00 0
Anonymous:          1000 kB
VmFlags: rd wr mr mw me nr
7f003bffe000-7f003c000000 ---p 00000000 00:00 0
Anonymous:             0 kB
VmFlags: mr mw me nr
7f003c000000-7f0040000000 rw-p 00000000 00:00 0
Anonymous:          2000 kB
VmFlags: rd wr mr mw me nr
7f0040000000-7f0050000000 ---p 00000000 00:00 0
Anonymous:             0 kB
VmFlags: mr mw me nr
7f00537fe000-7f00537ff000 ---p 00000000 00:00 0
Anonymous:             0 kB
7f00537ff000-7f0053fff000 rw-p 00000000 00:00 0
Anonymous:            12 kB
VmFlags: rd wr mr mw me ac
7f0053fff000-7f0054000000 ---p 00000000 00:00 0
Anonymous:             0 kB
7f0054000000-7f0054800000 rw-p 00000000 00:00 0
Anonymous:            16 kB
VmFlags: rd wr mr mw me ac
7f0060000000-7f0060801000 rw-p 00000000 00:00 0
Anonymous:            12 kB
VmFlags: rd wr mr mw me gu ac nh
7f006fff0000-7f0078010000 rw-p 00000000 00:00 0
Anonymous:        131000 kB
VmFlags: rd wr mr mw me ac
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
Anonymous:            40 kB
"""


def test_memory_maps_are_sorted_by_what_they_are_for():
    maps = MemoryMaps((0x7F0020000010, 0x7F0100000000))
    for _ in maps.add(line + b"\n" for line in MAPS.encode().splitlines()):
        pass
    assert maps.anonymous == {
        HEAP: (612 + 73000) << 10,
        STACKS: (60 + 12 + 16) << 10,
        OTHER: (48 + 131000) << 10,
        WRITTEN: 4 << 10,
    }
    assert maps.heap_size == 0x100000 + 0x21000 + 0x8000000 + 0x3FFE000 + 0x4000000
    assert (maps.arenas, maps.arena_heaps) == ((100 + 73000) << 10, 5)
    assert (maps.regions, maps.regions_rss) == (128 << 20, (131000 - 128) << 10)
    assert maps.files == {0x7F0020000010: "/usr/lib/libc.so.6"}


@pytest.mark.parametrize(
    ("heap", "arenas", "heaps", "threads", "blocks", "expected"),
    [
        (90, 0, 0, 5, 10**6, 0.018),
        (200, 0, 0, 5, 10**6, 0.040),
        (200, 0, 0, 5, 70_000, 0.014),
        (200, 0, 0, 5, None, 0.040),
        (10, 380, 8, 2, 10**6, 0.038),
        (10, 380, 8, 9, 10**6, 0.0095),
    ],
)
def test_the_pause_that_asking_malloc_may_take(heap, arenas, heaps, threads, blocks, expected):
    maps = MemoryMaps()
    maps.anonymous[HEAP], maps.arenas, maps.arena_heaps = (heap + arenas) << 20, arenas << 20, heaps
    assert longest_pause(maps, blocks, threads) == pytest.approx(expected, rel=0.05)


@pytest.mark.skipif(not LINUX, reason="only Linux has it")
def test_malloc_is_not_asked_if_that_may_take_too_long():
    reports = []
    for longest in (1e-9, 60.0):
        for _ in find_memory(reports.append, longest):
            pass
    refused, answered = reports
    assert "malloc" not in refused
    assert "only asked on request" in refused["unknown"]
    assert answered["malloc"]["taken"] > 0


INFO = b"""<malloc version="1">
<heap nr="0">
<sizes>
  <size from="33" to="33" total="99" count="3"/>
</sizes>
<total type="fast" count="0" size="0"/>
<total type="rest" count="3" size="90000"/>
<system type="current" size="1000000"/>
</heap>
<heap nr="1">
<total type="fast" count="1" size="10"/>
<total type="rest" count="3" size="10000"/>
<system type="current" size="500000"/>
</heap>
<total type="fast" count="1" size="10"/>
<total type="rest" count="6" size="100000"/>
<total type="mmap" count="2" size="700000"/>
<system type="current" size="1500000"/>
<system type="max" size="1600000"/>
</malloc>
"""


def test_the_totals_of_malloc_are_read():
    assert malloc.parse(INFO) == {"taken": 1_500_000, "free": 100_010, "mapped": 700_000, "arenas": 2}
    newer = b"\n".join(line for line in INFO.splitlines() if b"fast" not in line)
    assert malloc.parse(newer)["free"] == 100_000
    with pytest.raises(ValueError, match="not understood"):
        malloc.parse(b"<malloc/>")


@pytest.mark.skipif(not LINUX, reason="only Linux has it")
def test_a_malloc_that_is_preloaded_is_not_asked():
    found = malloc.Malloc()
    libc, other = "/lib/libc.so.6", "/usr/lib/libjemalloc.so.2"
    found.addresses = (1, 2)
    for files in ({1: libc, 2: libc}, {1: os.readlink("/proc/self/exe"), 2: libc}):
        found.check(files)
    with pytest.raises(ValueError, match=r"malloc is that of libjemalloc\.so\.2, which is not asked"):
        found.check({1: other, 2: libc})


def test_a_c_library_that_does_not_say_what_it_keeps_is_told(monkeypatch):
    monkeypatch.setattr(malloc, "_library", object())
    reports = []
    for _ in find_memory(reports.append):
        pass
    (report,) = reports
    assert "malloc" not in report
    assert "does not say" in report["unknown"]
    assert ("rss" in report) == LINUX


KEEPS = """
import asyncio, sys, threading
kept = []
def fill():
    blocks = [b"%d" % number * 20_000 for number in range(100, 1_100)]
    kept.append(bytes(40_000))  # above them, so that malloc cannot give them back
    ready.set()
    done.wait()
    del blocks
    end.wait()
ready, done, end = threading.Event(), threading.Event(), threading.Event()
thread = threading.Thread(target=fill)
thread.start()
ready.wait()
print("ctypes" in sys.modules, flush=True)
sys.stdin.readline()
done.set()
async def main():
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    end.set()
asyncio.run(main())
thread.join()
"""


def answer(process, number):
    """Ask what memory is made of, and return the ``number``-th answer as the monitor has it."""
    process.send("memory")
    while len(process.all("memory")) < number:
        process.tick()
    return rss_parts(decode_report(json.dumps(process.all("memory")[number - 1]).encode()), None, 0.0)


@pytest.mark.real
@pytest.mark.skipif(not LINUX, reason="only Linux has it")
@oldest_and_newest
def test_what_memory_is_made_of_adds_up_and_free_memory_is_found(monitor, python):
    program = monitor.start(KEEPS, python=python)
    process = monitor.process()
    assert program.stdout.readline() == "False\n"
    used = answer(process, 1)
    sizes = {part.name: part.bytes for part in used.parts}
    assert sum(sizes.values()) == used.rss
    assert sizes["c_heap_used"] > 60_000_000
    assert used.free < 20_000_000
    assert abs(sizes["unexplained"]) < 2_000_000
    assert sizes["file_pages"] > 1_000_000
    assert 0 < sizes["stacks"] < sizes["file_pages"]
    program.stdin.write("\n")
    program.stdin.flush()
    number, kept = 2, answer(process, 2)
    while kept.free < 55_000_000:  # until the thread has run
        number += 1
        kept = answer(process, number)
    assert kept.free < 70_000_000
    assert kept.size_of("c_heap_used") < 20_000_000
    assert kept.blocks > 10_000
    program.stdin.write("\n")
    assert finish(program) == ""
