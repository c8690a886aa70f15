"""The screen in a browser: a real server, real pages, and no process left behind whoever is killed."""

import asyncio
import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from PIL import Image

from concwatch.commands import serve
from concwatch.pictures.png import can_draw
from concwatch.system.child import ROOT
from concwatch.ui.hangup import HANGUP_STATUS, exit_with_page
from concwatch.ui.in_page import page_environment
from concwatch.web import session
from concwatch.web.listening import listen, url
from concwatch.web.page_input import InputFilter, clamp_size
from concwatch.web.site import Site, is_allowed
from tests.browser import MISSING, PATIENCE, Browser, until
from tests.command_line import PROGRAM, invoke, refused
from tests.processes import assert_ended

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is served on Windows")

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def test_a_port_in_use_is_one_line_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused("serve", "--port", port)
    assert line.startswith(f"cannot listen on 127.0.0.1, port {port}: ")
    assert "expected a free port, or --port 0 for any that is free" in line


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    real = importlib.util.find_spec
    missing = "textual_serve"
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else real(name, *rest)
    )
    assert refused("serve").endswith("pip install 'concwatch[web]'")


# Who may use it.


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]")],
)
def test_the_address_is_one_that_a_browser_here_can_open(host, shown):
    assert url(host, 80) == f"http://{shown}:80"


@pytest.mark.parametrize(
    ("host", "origin", "names", "may"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000", (), True),
        ("localhost:9000", "http://localhost:9000", (), True),  # through a tunnel
        ("127.0.0.1:8000", None, (), True),  # no browser, or the address typed by hand
        ("a.localhost", None, (), True),
        ("evil-localhost", None, (), False),
        ("localhost.example.org", None, (), False),
        ("127.0.0.1.example.org", None, (), False),
        ("127.0.0.1:8000", "https://example.org", (), False),
        ("127.0.0.1:8000", "http://127.0.0.1:8001", (), False),
        ("127.0.0.1:8000", "null", (), False),
        ("example.org:8000", "http://example.org:8000", (), False),  # a name pointed at this machine
        ("example.org:8000", "http://example.org:8000", ("box",), False),
        ("example.org", "https://example.org", ("box", "example.org"), True),  # a reverse proxy
        ("Box.:8000", "http://Box.:8000", ("box",), True),
        ("192.168.0.2:8000", "http://192.168.0.2:8000", (), True),
        ("[fe80::1%25eth0]:8000", None, (), True),
        ("box.example.org:8000", None, ("box",), False),
        ("", None, ("box",), False),
        ("[::1", None, (), False),
        ("box:8000", "http://[", ("box",), False),
    ],
)
def test_a_page_from_elsewhere_may_not_use_it(host, origin, names, may):
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert is_allowed(make_mocked_request("GET", "/ws", headers=headers), names) is may


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (("120", "40"), (120, 40)), ((182, 41), (182, 41)), ((None, "x"), (80, 24)),
        (("1e9", "-3"), (80, 5)), ((10**12, 10**12), (1_000, 500)), ((float("inf"), [1]), (80, 24)),
    ],
)  # fmt: skip
def test_a_size_is_brought_within_bounds(asked, given):
    assert clamp_size(*asked) == given


@pytest.mark.parametrize(
    ("pieces", "taken"),
    [
        (["a", "\x1b", "[A", "ü€😀", "\x1b[1;5C", "\x1b[<0;12;3M", "\x1b[?2026;2$y"], True),
        (["\x1b[200~\x1b[48;5;7m some text\x1b[0m\x1b[201~"], True),
        (["\x1b[128512u"], True),
        (["\x1b[1114112u"], False),
        (["\x1b[97;1;97:99999999u"], False),
        (["\x1b[55296u"], False),
        (["\x1b[48;3000;3000;1;1t"], False),
        (["\x1b[48;3000:a;3000;1;1t"], False),
        (["\x1b", "[48;3000;30", "00;1;1t"], False),
        (["x" * 100, "\x1b[11141", "12u"], False),
    ],
)
def test_a_page_types_letters_and_keys_that_there_are_and_no_sizes(pieces, taken):
    typed = InputFilter()
    assert ("".join(map(typed.filter, pieces)) == "".join(pieces)) is taken
    assert typed.filter("q") == "q"


# Sessions with programs that misbehave.

SAY = 'import os, sys, time; os.write(1, b"__GANGLION__\\n"); '
DEAF = SAY + "sys.stdin.buffer.read(); os._exit(0)"
"""Ignores whatever it is told, and ends with its input."""
FLOOD = SAY + "exec(\"while True: os.write(1, b'D' + (60000).to_bytes(4, 'big') + bytes(60000))\")"
"""Paints without end, and ends when nobody takes it."""


@pytest.fixture
async def serving(monkeypatch):
    """Gives a function that serves programs from Python code; it gives the address."""
    monkeypatch.setattr(session, "QUIT_TIMEOUT", 0.2)
    runners = []

    async def start(code, heartbeat=10.0):
        if code is FLOOD:  # which ends by force alone
            monkeypatch.setattr(session, "EOF_TIMEOUT", 0.2)
        site = Site([sys.executable, "-c", code], names=(), heartbeat=heartbeat)
        runner = web.AppRunner(site.app(), access_log=None, shutdown_timeout=PATIENCE)
        await runner.setup()
        listening = listen("127.0.0.1", 0)
        await web.SockSite(runner, listening).start()
        runners.append(runner)
        return url(*listening.getsockname()[:2])

    start.runners = runners
    yield start
    for runner in runners:
        await runner.cleanup()


def children():
    return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}


async def soon(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"still not: {what}"
        await asyncio.sleep(0.02)


@contextlib.contextmanager
def bare_page(where, buffer=1 << 18):
    """A page that says nothing and reads nothing by itself."""
    port = int(where.rpartition(":")[2])
    with socket.socket() as page:
        page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        page.connect(("127.0.0.1", port))
        page.sendall(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        yield page


@pytest.mark.real
@pytest.mark.parametrize(
    ("code", "heartbeat", "closes"),
    [(DEAF, 10.0, True), (DEAF, 0.3, False), (FLOOD, 0.3, False)],
    ids=["closed", "vanished", "vanished in mid-painting"],
)
async def test_a_page_that_is_gone_ends_its_program(serving, caplog, code, heartbeat, closes):
    before = children()
    with bare_page(await serving(code, heartbeat)) as page:
        await soon(lambda: children() - before, "the program runs")
        if closes:
            page.close()
        await soon(lambda: not children() - before, "it has ended")
    given_up = r"concwatch: a page was closed: for \S+ s it answered no ping and received no output"
    assert [bool(re.fullmatch(given_up, line)) for line in caplog.messages] == [True] * (not closes)


@pytest.mark.real
async def test_a_page_that_takes_what_is_painted_is_there_however_late_it_answers(serving):
    heartbeat = 0.3
    # A stream of asyncio's takes 256 KiB at once, and nothing more until all of it is read.
    with bare_page(await serving(FLOOD, heartbeat), buffer=1 << 14) as page:
        page.setblocking(False)
        end = time.monotonic() + 2 * session.MISSED_PINGS * heartbeat
        while time.monotonic() < end:  # it answers no ping at all
            assert await asyncio.get_running_loop().sock_recv(page, 1 << 12), "it was given up"
            await asyncio.sleep(0.001)  # slower than it is painted


@pytest.mark.real
async def test_a_page_that_reads_nothing_does_not_hold_up_the_servers_end(serving, monkeypatch):
    monkeypatch.setattr(session, "FLUSH_TIMEOUT", 0.2)
    before = children()
    with bare_page(await serving(FLOOD, heartbeat=3600)) as page:
        await soon(lambda: children() - before, "the program runs")
        assert await asyncio.to_thread(page.recv, 1)
        async with asyncio.timeout(PATIENCE):
            await serving.runners[0].cleanup()
    assert not children() - before


FAIL = "import sys; print('concwatch: all <b>lost</b>', file=sys.stderr); "


@pytest.mark.real
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (FAIL + "sys.exit(2)", "concwatch: all <b>lost</b>"),
        (FAIL + "sys.exit(0)", None),
        ("raise SystemExit(3)", "its program ended with status 3"),
        (SAY + "os._exit(3)", "its program ended with status 3"),
        (SAY + "os.write(1, b'M\\0\\0\\0\\17{\"type\":\"exit\"}'); sys.exit('crashed')", "crashed"),
    ],
    ids=["failed", "done", "silent at once", "silent later", "after its goodbye"],
)
async def test_a_page_ends_with_its_program_and_is_told_why(serving, code, told):
    where = await serving(code)
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{where}/ws") as page:
        said = [json.loads(message.data) async for message in page]
    assert said == ([["ended", told]] if told else [])


@pytest.mark.real
async def test_what_makes_no_sense_is_ignored(serving):
    where = await serving(DEAF)
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{where}/ws") as page:
        for text in ("", "{", "7", "[]", '"x"', '["stdin"]', '["stdin", 5]', '["resize", {}]', '["x", {}]',
                     "[" * 100_000,
                     '["resize", {"width": "many", "height": 1e99}]', '[["stdin"], "q"]'):  # fmt: skip
            await page.send_str(text)
        await page.send_bytes(b"\xff\x00")
        await page.send_str('["ping", "12"]')
        assert json.loads((await page.receive(timeout=PATIENCE)).data) == ["pong", "12"]


@pytest.mark.real_time
async def test_the_page_needs_nothing_from_elsewhere_and_is_refused_to_others(serving):
    where = await serving(DEAF)
    async with aiohttp.ClientSession() as client:
        async with client.get(where) as answer:
            text = await answer.text()
        assert not re.findall(r'(?:src|href)\s*=\s*"(?:https?:)?//', text)
        for path in re.findall(r'(?:src|href)="(static[^"]*)"|url\("(static[^"]*)"\)', text):
            async with client.get(f"{where}/{path[0] or path[1]}") as answer:
                assert answer.status == 200, path
        for path in ("", "/ws", "/download/x", "/static/js/textual.js"):
            async with client.get(where + path, headers={"Origin": "https://example.org"}) as answer:
                assert (answer.status, "refused" in await answer.text()) == (403, True)
        async with client.get(f"{where}/download/x", headers={"Origin": where}) as answer:
            assert answer.status == 404  # nothing of that name is offered


# The program's own end.


@pytest.mark.parametrize("make", [os.pipe, socket.socketpair])
def test_the_screen_is_told_and_then_ended_when_its_input_ends(make, monkeypatch):
    told, ended = [], []
    monkeypatch.setattr("concwatch.ui.hangup.GRACE", 0.01)
    monkeypatch.setattr("concwatch.ui.hangup.os.kill", lambda *signalled: told.append(signalled))
    ours, theirs = (end if isinstance(end, int) else end.detach() for end in make())
    exit_with_page(ours, ended.append)
    assert not told
    os.close(theirs)
    until(lambda: ended, "the end")
    assert (told, ended) == ([(os.getpid(), signal.SIGHUP)], [HANGUP_STATUS])
    os.close(ours)


@pytest.mark.real
def test_the_screen_ends_in_order_when_its_page_is_left_while_it_starts():
    asked = json.dumps({"type": "quit"}).encode()
    with subprocess.Popen(
        PROGRAM,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **page_environment(120, 40)},
    ) as screen:
        screen.stdin.write(b"M" + len(asked).to_bytes(4, "big") + asked)
        screen.stdin.flush()  # and not closed, which would be another end
        assert (screen.stderr.read(), screen.wait(PATIENCE)) == (b"", 0)


# The real server.


PATIENT = "import concwatch.web.site as site; site.HEARTBEAT = 3600.0; from concwatch.cli import main; main()"
"""The program, whose pings come too late to notice what it shall notice at once."""


class Served:
    """``concwatch serve`` on any free port, with one lane."""

    def __init__(self, *options, screen=("--engines", "asyncio")):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PATIENT, "serve", "--port", "0", *screen, *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.tree = psutil.Process(self.process.pid)
        self.line = self.process.stdout.readline()
        found = re.search(r"http://\S+", self.line)
        assert found, self.process.communicate(timeout=PATIENCE)
        self.url = found[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def screens(self):
        """The processes behind the pages."""
        return self.tree.children()

    def workers(self):
        """The workers of all pages."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return [process for process in self.tree.children(recursive=True) if is_worker(process)]
        return []


def is_worker(process):
    try:
        return "concwatch.worker" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@contextlib.asynccontextmanager
async def page_of(served):
    """A page without a browser: gives what it has been sent, and a function that types."""
    seen = bytearray()

    async def read(page):
        async for message in page:
            if message.type is aiohttp.WSMsgType.BINARY:
                seen.extend(message.data)

    async with aiohttp.ClientSession() as client:
        page = await client.ws_connect(f"{served.url}/ws?width=120&height=40", max_msg_size=0)
        reading = asyncio.create_task(read(page))
        try:
            yield seen, lambda keys: page.send_str(json.dumps(["stdin", keys]))
        finally:
            await page.close()
            await reading


async def started(page):
    seen, type_ = page
    await soon(lambda: b"drag the slider" in seen, "the screen is shown")
    await type_("+")
    await soon(lambda: b"10,000" in seen and b"live" in seen, "10,000 tasks are live")


async def everything(served, pages):
    """Wait until each page has its worker, and return all processes."""
    await soon(lambda: len(served.workers()) == pages, f"{pages} workers run")
    found = served.tree.children(recursive=True)
    assert len(found) == 2 * pages
    return found


def links(pid, numbers=None):
    """What the open files of a process are, or some of them."""
    folder, found = f"/proc/{pid}/fd", set()
    for number in numbers or os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # a process opens and closes some all the time
            found.add(os.readlink(f"{folder}/{number}"))
    assert found
    return found


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_several_pages_are_sessions_of_their_own_with_the_servers_options_until_it_ends():
    with Served("--rate", "20", "--tasks", "asyncio=7") as served:
        async with page_of(served) as first:
            await soon(lambda: b"7 live" in first[0], "7 tasks are live")
            assert b"20 Hz" in first[0]
            assert b"uvloop" not in first[0]
            async with page_of(served) as second:
                await started(second)
                processes = await everything(served, 2)
                assert len({worker.ppid() for worker in served.workers()}) == 2
                for worker in served.workers():  # which has nothing of its page
                    assert not set(page_environment(80, 24)) & set(worker.environ())
                    if sys.platform.startswith("linux"):
                        assert not links(worker.ppid(), range(3)) & links(worker.pid)
            (kept,) = until(lambda: len(served.screens()) == 1 and served.screens(), "one session is left")
            assert_ended([process for process in processes if process not in (kept, *kept.children())])
            assert len(served.workers()) == 1
            served.process.send_signal(signal.SIGINT)
            await soon(lambda: served.process.poll() is not None, "the server has ended")
            assert served.process.returncode == 130
            assert_ended(processes)
        _, errors = served.process.communicate(timeout=PATIENCE)
        assert errors == ""


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_lanes_of_a_page_run_on_other_hosts_and_end_with_a_killed_server():
    with Served("--tasks", "asyncio=7", "--", "--host", "env HOST=web1") as served:
        async with page_of(served) as (seen, _):
            await soon(lambda: b"7 live" in seen and b"HOST=web1" in seen, "7 tasks are live there")
            processes = served.tree.children(recursive=True)
            assert len(processes) == 3  # the screen, the bridge and its worker
            served.process.kill()
            assert_ended(processes)


NAPS = "import asyncio\nasync def nap():\n    await asyncio.sleep(600)\nasyncio.run(nap())"


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_a_page_watches_a_program_that_ends_with_it():
    with Served("watch", "--", sys.executable, "-c", NAPS, screen=()) as served:
        async with page_of(served) as (seen, type_):
            await soon(
                lambda: b"nap" in seen and b"tasks by function" in seen, "the program's tasks are shown"
            )
            processes = served.tree.children(recursive=True)
            assert any("nap()" in " ".join(process.cmdline()) for process in processes)
            assert not any("TEXTUAL_DRIVER" in process.environ() for process in processes[1:])
            await type_("enter")
        assert_ended(processes)


def test_a_command_behind_serve_is_one_with_a_screen_and_has_its_own_options():
    assert 'unknown command "run": expected one of watch, attach, replay' in refused("serve", "run")
    line = refused("serve", "--rate", "5", "watch", "--", "true")
    assert line.startswith('--rate=5 is not an option of "watch": expected only options of "watch", after it')
    assert 'unknown host "nowhere"' in refused("serve", "--", "--host", "nowhere")
    assert '"run" after "--": expected only options of the screen' in refused(
        "serve", "--", "--rate", 5, "run"
    )


HERE = {socket.gethostname(), f"{socket.gethostname()}.local", socket.getfqdn()}


@pytest.mark.parametrize(
    ("options", "known", "warns"),
    [
        ((), {"127.0.0.1"}, False),
        (("--host", "127.1", "--name", "Proxy.example"), {"127.1", "Proxy.example"}, False),
        (("--host", "0.0.0.0"), {"0.0.0.0", *HERE}, True),
    ],
)
def test_it_answers_under_the_names_it_was_given_and_warns_beyond_loopback(
    options, known, warns, monkeypatch
):
    served = []
    monkeypatch.setattr(serve, "_serve", lambda listening, called, names, where: served.append(names))
    monkeypatch.setattr(serve, "run_until_signal", lambda work: (None, 2))
    done = invoke("serve", "--port", "0", *options)
    assert (served, done.exit_code) == ([known], 130)
    warning = (
        r"concwatch: warning: anyone who can reach 0\.0\.0\.0, port \d+, can start tasks on this machine\n"
    )
    assert re.fullmatch(warning if warns else "", done.stderr)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_every_address_of_ipv6_is_every_address_of_ipv4_too():
    with listen("::", 0) as listening:
        socket.create_connection(("127.0.0.1", listening.getsockname()[1])).close()


@pytest.mark.real
@LINUX
def test_what_clients_do_wrong_and_the_system_refuses_is_one_line_a_minute():
    def get(headers):
        with socket.create_connection(where, PATIENCE) as client:
            client.sendall(f"GET / HTTP/1.1\r\n{headers}\r\n".encode())
            return client.recv(1 << 12)[9:12]

    bad = ("", "Host: a\r\nHost: b\r\n", "Host: 127.0.0.1\r\nContent-Length: x\r\n")
    with Served() as served:
        where = ("127.0.0.1", int(served.url.rpartition(":")[2]))
        assert {get(headers) for headers in 3 * bad} <= {b"400", b"403"}
        count = served.tree.num_fds()
        served.tree.rlimit(psutil.RLIMIT_NOFILE, (count + 2, count + 50))
        clients = [socket.create_connection(where, PATIENCE) for _ in range(6)]
        lines = [""]
        while "Too many open files" not in lines[-1]:
            lines.append(served.process.stderr.readline())
        for client in clients:
            client.close()
        assert get("Host: 127.0.0.1\r\n") == b"200"
        served.process.terminate()
        _, told = served.process.communicate(timeout=PATIENCE)
    assert len(lines) <= len(bad) + 2
    assert "Too many open files" not in told
    assert "Traceback" not in told


# In a real browser.


BROWSER = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def tasks_live(browser):
    found = re.search(r"([\d,]+) live", "\n".join(browser.lines()))
    return found and found[1]


LETTERS = "return Number(seenTerminal.options.fontSize)"
FITS = """
const {cols, rows, buffer: {active}} = seenTerminal;
const edge = active.getLine(active.viewportY + (rows >> 1)).getCell(cols - 1).getBgColor();
return [cols, rows, [edge >> 16, (edge >> 8) & 255, edge & 255]];
"""


@pytest.mark.real
@BROWSER
@pytest.mark.timeout(400)
def test_in_a_browser_the_screen_fits_is_obeyed_offers_downloads_and_ends_with_its_page(tmp_path):
    pictures, recordings = tmp_path / "pictures", tmp_path / "recordings"
    options = ("--screenshots", str(pictures), "--recordings", str(recordings))
    with contextlib.closing(Browser(tmp_path)) as browser, Served(*options) as served:
        browser.open(served.url)
        browser.sees("RSS", "live tasks", "what a task costs", "drag the slider", "○ off", "1 asyncio")
        assert browser.run("return document.fonts.check(\"16px 'Roboto Mono'\")")
        (screen,) = served.screens()
        assert served.workers() == []

        worker = switch_on_and_drag(browser, served)
        save(browser, pictures, recordings)
        resize_and_change_theme(browser)
        assert browser.told() == []

        # Leaving the page ends its session.
        browser.open("about:blank")
        assert_ended([screen, worker])
        until(lambda: not served.screens(), "the server has noticed")

        # A page shows why its program failed.
        with Served("replay", str(tmp_path / "<b>none"), screen=()) as failing:
            browser.open(failing.url)
            text = until(
                lambda: "gone" in (text := browser.run("return words.innerText")) and text, "its end"
            )
            first, *_, last = text.splitlines()
            assert first == "This session has ended; its tasks are gone."
            assert '/<b>none": No such file' in last

        # Coming back begins another session, which ends with the browser.
        browser.open(served.url)
        browser.sees("drag the slider")
        browser.type("+")
        until(lambda: tasks_live(browser) == "10,000", "10,000 are live")
        everything = served.tree.children(recursive=True)
        assert len(everything) == 2
        browser.kill()
        assert_ended(everything)
        assert served.process.poll() is None


def switch_on_and_drag(browser, served):
    """Switch the lane on by a click and drag its slider; return its worker."""
    browser.mouse(browser.find("○ off"))
    browser.sees("● on", "0 live")
    (worker,) = until(served.workers, "a worker runs")
    idle = worker.memory_info().rss
    column, line = browser.find("●───")
    assert line == browser.find("1 asyncio")[1] + 1
    browser.mouse((column, line), (column + 10, line), (column + 29, line), held=True)
    browser.sees("→ about")
    browser.let_go()
    browser.sees("started in")
    target = re.search(r"([\d,]+) tasks? started in", "\n".join(browser.lines()))[1]
    count = int(target.replace(",", ""))
    assert count >= 1_000
    until(lambda: tasks_live(browser) == target, lambda: f"{target} are live: {tasks_live(browser)}")
    until(lambda: worker.memory_info().rss > idle + 500 * count, "it weighs more")
    browser.sees("MiB┤", "┴", "now", "KiBᵗ")
    assert any(char in "▌▐▀▄█" for row in browser.lines() for char in row), "no line on a chart"
    return worker


def save(browser, pictures, recordings):
    """Save a picture and a recording, and wait for their downloads."""

    def downloaded(folder, pattern):
        (saved,) = until(lambda: list(folder.glob(pattern)), f"a {pattern} is saved")
        copy = browser.downloads / saved.name
        until(lambda: copy.exists() and copy.read_bytes() == saved.read_bytes(), f"{copy} is whole")

    browser.type("s")
    downloaded(pictures, "*.png" if can_draw() else "*.svg")
    browser.type("r")
    browser.sees("● rec")
    browser.type("r")
    downloaded(recordings, "*.jsonl")
    assert len(list(browser.downloads.iterdir())) == 2


def resize_and_change_theme(browser):
    """Check that the letters fit windows of several sizes, and the space around has the screen's color."""
    for width, height, dots in [(1280, 900, 2), (800, 600, 2), (1500, 900, 1)]:
        browser.window(width, height, dots)
        letters = {900: 16, 600: 11}[height]
        until(lambda: browser.run(LETTERS) == letters, lambda: browser.run(LETTERS))  # noqa: B023
        columns, lines, _ = browser.run(FITS)
        assert (columns >= 120, lines >= 40) == (True, True)

    def edge():
        picture = Image.open(io.BytesIO(browser.picture())).convert("RGB")
        _, _, last = browser.run(FITS)
        beside = {picture.getpixel(place) for place in ((1499, 450), (750, 899), (1499, 899))}
        return beside == {tuple(last)} and beside

    dark = until(edge, lambda: browser.run(FITS))
    for typed, seen in [
        ("\\x10", "Search"),
        ("theme", "Change the current theme"),
        ("\\r", "textual-light"),
        ("textual-light", "textual-light"),
        ("\\r", ""),
    ]:
        browser.run(f'seenTerminal.input("{typed}")')
        browser.sees(seen)
    until(lambda: edge() not in (False, dark), lambda: browser.run(FITS))
