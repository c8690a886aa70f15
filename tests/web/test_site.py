"""``concwatch serve``: who may connect, sessions and their processes, and the page in a real browser."""

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
from urllib.parse import urlencode

import aiohttp
import psutil
import pytest
import yarl
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from PIL import Image

from concwatch.commands.basics.hangup import HANGUP_STATUS, exit_with_page
from concwatch.commands.screens import serve
from concwatch.pictures.png import can_draw
from concwatch.system.child import ROOT
from concwatch.web import session
from concwatch.web.in_page import page_environment
from concwatch.web.listening import listen, url
from concwatch.web.page_input import InputFilter, clamp_size
from concwatch.web.site import PAGE, Site, is_allowed
from tests.browser import MISSING, PATIENCE, Browser, until
from tests.command_line import PROGRAM, invoke, refused
from tests.host_driver import eventually
from tests.processes import alive, assert_ended, workers_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="serve is not supported on Windows")


def test_a_port_in_use_is_a_one_line_error_with_advice():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        line = refused("serve", "--port", port)
    assert line.startswith(f"cannot listen on 127.0.0.1, port {port} (")
    assert "expected a free port, or --port 0 for any that is free" in line


def test_a_missing_extra_is_named(monkeypatch):
    real = importlib.util.find_spec
    missing = "textual_serve"
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else real(name, *rest)
    )
    assert refused("serve").endswith("pip install 'concwatch[web]'")


# Who may connect.


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("::", "[::1]")],
)
def test_the_url_can_be_opened_by_a_browser_on_this_machine(host, shown):
    assert url(host, 80) == f"http://{shown}:80"


@pytest.mark.parametrize(
    ("host", "origin", "names", "allowed"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000", (), True),
        ("localhost:9000", "http://localhost:9000", (), True),  # through a tunnel
        ("127.0.0.1:8000", None, (), True),  # no browser, or a typed address
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
def test_requests_of_other_sites_are_not_allowed(host, origin, names, allowed):
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert is_allowed(make_mocked_request("GET", "/ws", headers=headers), names) is allowed


@pytest.mark.parametrize(
    ("requested", "size"),
    [
        (("120", "40"), (120, 40)), ((182, 41), (182, 41)), ((None, "x"), (80, 24)),
        (("1e9", "-3"), (80, 5)), ((10**12, 10**12), (1_000, 500)), ((float("inf"), [1]), (80, 24)),
    ],
)  # fmt: skip
def test_the_size_of_a_page_is_clamped(requested, size):
    assert clamp_size(*requested) == size


@pytest.mark.parametrize(
    ("pieces", "accepted"),
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
def test_input_with_invalid_code_points_or_terminal_sizes_is_filtered(pieces, accepted):
    keys = InputFilter()
    assert ("".join(map(keys.filter, pieces)) == "".join(pieces)) is accepted
    assert keys.filter("q") == "q"


# The token.


@pytest.fixture
async def guarded():
    """Yield the URL of a site whose token is "secret", which offers a file for download."""
    site = Site([sys.executable, "-c", IDLE], names=(), heartbeat=10.0, token="secret")
    site._downloads["picture"] = PAGE
    runner = web.AppRunner(site.app(), access_log=None)
    await runner.setup()
    listening = listen("127.0.0.1", 0)
    await web.SockSite(runner, listening).start()
    yield url(*listening.getsockname()[:2])
    await runner.cleanup()


PATHS = ("/", "/ws", "/static/js/textual.js", "/download/picture", "/nothing")


@pytest.mark.real
@pytest.mark.parametrize("token", [None, "", "Secret", "secret ", "secre", "secrets", "é", "\udc80"])
async def test_nothing_is_answered_without_the_token(guarded, token):
    query = "" if token is None else "?" + urlencode({"token": token}, errors="surrogatepass")
    port = guarded.rpartition(":")[2]
    cookie = {"Cookie": f"concwatch-{port}=x{token or ''}".encode(errors="replace").decode("latin-1")}
    async with aiohttp.ClientSession() as client:
        for path in PATHS:
            for headers in ({}, cookie):
                address = yarl.URL(guarded + path + query, encoded=True)
                async with client.get(address, headers=headers, allow_redirects=False) as answer:
                    assert answer.status == 403
                    assert "token" in await answer.text()
                    assert "secret" not in await answer.text()


@pytest.mark.real
async def test_the_token_becomes_a_cookie_and_leaves_the_address(guarded):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        async with client.get(f"{guarded}/?fontsize=9&token=secret", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "?fontsize=9")
            (cookie,) = answer.cookies.values()
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
            assert "secret" not in cookie.value
        async with client.get(f"{guarded}/?token=secret&token=other") as answer:
            assert (answer.status, str(answer.url)) == (200, f"{guarded}/")
        for path in ("/static/js/textual.js", "/download/picture"):
            async with client.get(guarded + path) as answer:
                assert answer.status == 200
        async with client.ws_connect(f"{guarded}/ws") as page:
            assert not page.closed
        headers = {"Origin": "http://other.example"}
        async with client.get(guarded, headers=headers) as answer:
            assert answer.status == 403


def test_the_token_can_be_given_or_left_out_and_is_not_shown(monkeypatch):
    tokens = []
    monkeypatch.setattr(serve, "_serve", lambda *arguments: tokens.append(arguments[-1]))
    monkeypatch.setattr(serve, "run_until_signal", lambda work: (None, 2))
    for options in (("--token", "a-b"), ("--token", "none"), (), ()):
        invoke("serve", "--port", "0", *options)
    given, none, first, second = tokens
    assert (given, none) == ("a-b", None)
    assert first != second
    assert min(len(first), len(second)) > 40
    assert "letters" in refused("serve", "--token", "a b")
    monkeypatch.setenv("CONCWATCH_SERVE_TOKEN", "a-b-c")
    for options in ((), ("--json",)):
        assert "a-b-c" not in invoke("settings", *options).output


# Sessions with programs that misbehave.

START = 'import os, sys, time; os.write(1, b"__GANGLION__\\n"); '
IDLE = START + "sys.stdin.buffer.read(); os._exit(0)"
"""Ignores all messages, and exits at the end of its input."""
FLOOD = START + "exec(\"while True: os.write(1, b'D' + (60000).to_bytes(4, 'big') + bytes(60000))\")"
"""Writes output without end; exits only when the output is closed."""


@pytest.fixture
async def serving(monkeypatch):
    """Return a function that serves a program given as Python code, and returns the URL."""
    monkeypatch.setattr(session, "QUIT_TIMEOUT", 0.2)
    runners = []

    async def start(code, heartbeat=10.0):
        if code is FLOOD:  # which does not exit by itself
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
    """Return the pids of the running children of this process."""
    return {child.pid for child in psutil.Process().children() if alive(child)}


@contextlib.contextmanager
def bare_page(url, buffer=1 << 18):
    """Open a page that sends nothing, and reads only what the test reads."""
    port = int(url.rpartition(":")[2])
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
    [(IDLE, 10.0, True), (IDLE, 0.3, False), (FLOOD, 0.3, False)],
    ids=["closed", "unreachable", "unreachable during output"],
)
async def test_the_program_ends_when_its_page_is_closed_or_unreachable(
    serving, caplog, code, heartbeat, closes
):
    before = children()
    with bare_page(await serving(code, heartbeat)) as page:
        await eventually(lambda: children() - before, lambda: "the program runs")
        if closes:
            page.close()
        await eventually(lambda: not children() - before, lambda: "it has ended")
    warning = r"concwatch: a page was closed: for \S+ s it answered no ping and received no output"
    assert [bool(re.fullmatch(warning, line)) for line in caplog.messages] == [True] * (not closes)


@pytest.mark.real
async def test_a_page_that_receives_output_is_kept_even_if_it_answers_no_ping(serving):
    heartbeat = 0.3
    # A stream of asyncio reads 256 KiB at once, and nothing more until all of it is consumed.
    with bare_page(await serving(FLOOD, heartbeat), buffer=1 << 14) as page:
        page.setblocking(False)
        loop, received = asyncio.get_running_loop(), b""
        while not received.partition(b"\r\n\r\n")[2]:  # until the program writes, the page has to answer
            await loop.sock_sendall(page, b"\x8a\x80" + bytes(4))  # a pong
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(heartbeat / 3):
                    received += await loop.sock_recv(page, 1 << 12)
        end = time.monotonic() + 2 * session.MISSED_PINGS * heartbeat
        while time.monotonic() < end:  # no ping is answered
            assert await loop.sock_recv(page, 1 << 12), "the page was closed"
            await asyncio.sleep(0.001)  # slower than the output is written


@pytest.mark.real
async def test_the_server_stops_even_if_a_page_reads_nothing(serving, monkeypatch):
    monkeypatch.setattr(session, "FLUSH_TIMEOUT", 0.2)
    before = children()
    with bare_page(await serving(FLOOD, heartbeat=3600)) as page:
        await eventually(lambda: children() - before, lambda: "the program runs")
        assert await asyncio.to_thread(page.recv, 1)
        async with asyncio.timeout(PATIENCE):
            await serving.runners[0].cleanup()
    assert not children() - before


FAIL = "import sys; print('concwatch: all <b>lost</b>', file=sys.stderr); "


@pytest.mark.real
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (FAIL + "sys.exit(2)", "concwatch: all <b>lost</b>"),
        (FAIL + "sys.exit(0)", None),
        ("raise SystemExit(3)", "its program exited with status 3"),
        (START + "os._exit(3)", "its program exited with status 3"),
        (START + "os.write(1, b'M\\0\\0\\0\\17{\"type\":\"exit\"}'); sys.exit('crashed')", "crashed"),
    ],
    ids=["failed", "succeeded", "failed at once", "failed later", "failed after exit message"],
)
async def test_a_page_shows_why_its_program_ended(serving, code, message):
    address = await serving(code)
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{address}/ws") as page:
        received = [json.loads(each.data) async for each in page]
    assert received == ([["ended", message]] if message else [])


@pytest.mark.real
async def test_invalid_messages_of_a_page_are_ignored(serving):
    address = await serving(IDLE)
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{address}/ws") as page:
        for text in ("", "{", "7", "[]", '"x"', '["stdin"]', '["stdin", 5]', '["resize", {}]', '["x", {}]',
                     "[" * 100_000,
                     '["resize", {"width": "many", "height": 1e99}]', '[["stdin"], "q"]'):  # fmt: skip
            await page.send_str(text)
        await page.send_bytes(b"\xff\x00")
        await page.send_str('["ping", "12"]')
        assert json.loads((await page.receive(timeout=PATIENCE)).data) == ["pong", "12"]


@pytest.mark.real_time
async def test_the_page_loads_nothing_from_other_sites_and_rejects_their_requests(serving):
    address = await serving(IDLE)
    async with aiohttp.ClientSession() as client:
        async with client.get(address) as answer:
            text = await answer.text()
        assert not re.findall(r'(?:src|href)\s*=\s*"(?:https?:)?//', text)
        for path in re.findall(r'(?:src|href)="(static[^"]*)"|url\("(static[^"]*)"\)', text):
            async with client.get(f"{address}/{path[0] or path[1]}") as answer:
                assert answer.status == 200, path
        for path in ("", "/ws", "/download/x", "/static/js/textual.js"):
            async with client.get(address + path, headers={"Origin": "https://example.org"}) as answer:
                assert (answer.status, "refused" in await answer.text()) == (403, True)
        async with client.get(f"{address}/download/x", headers={"Origin": address}) as answer:
            assert answer.status == 404  # no such download


# The end of a program.


@pytest.mark.parametrize("make", [os.pipe, socket.socketpair])
def test_the_screen_gets_sighup_and_then_exits_when_its_input_ends(make, monkeypatch):
    signals, statuses = [], []
    monkeypatch.setattr("concwatch.commands.basics.hangup.GRACE", 0.01)
    monkeypatch.setattr(
        "concwatch.commands.basics.hangup.os.kill", lambda *arguments: signals.append(arguments)
    )
    ours, theirs = (end if isinstance(end, int) else end.detach() for end in make())
    exit_with_page(ours, statuses.append)
    assert not signals
    os.close(theirs)
    until(lambda: statuses, "the screen exits")
    assert (signals, statuses) == ([(os.getpid(), signal.SIGHUP)], [HANGUP_STATUS])
    os.close(ours)


@pytest.mark.real
def test_the_screen_exits_cleanly_when_its_page_is_closed_during_the_start():
    message = json.dumps({"type": "quit"}).encode()
    with subprocess.Popen(
        PROGRAM,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **page_environment(120, 40)},
    ) as screen:
        screen.stdin.write(b"M" + len(message).to_bytes(4, "big") + message)
        screen.stdin.flush()  # not closed, which would end it in another way
        assert (screen.stderr.read(), screen.wait(PATIENCE)) == (b"", 0)


# The real server.


WITHOUT_PINGS = (
    "import concwatch.web.site as site; site.HEARTBEAT = 3600.0; from concwatch.__main__ import main; main()"
)
"""The program with so few pings that it must notice a closed page in another way."""


class Served:
    """``concwatch serve`` on a free port, with one lane."""

    def __init__(self, *options, screen=("--engines", "asyncio")):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WITHOUT_PINGS, "serve", "--port", "0", *screen, *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.tree = psutil.Process(self.process.pid)
        self.line = self.process.stdout.readline()
        found = re.search(r"(http://\S+)/\?token=(\S+)", self.line)
        assert found, self.process.communicate(timeout=PATIENCE)
        self.address, self.url, self.token = found[0], found[1], found[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def screens(self):
        """Return the processes of the screens, one a page."""
        return self.tree.children()

    def workers(self):
        """Return the workers of all pages."""
        return workers_of(self.tree, recursive=True)


@contextlib.asynccontextmanager
async def page_of(served):
    """Open a page without a browser: yield what it receives, and a function that types."""
    received = bytearray()

    async def read(page):
        async for message in page:
            if message.type is aiohttp.WSMsgType.BINARY:
                received.extend(message.data)

    async with aiohttp.ClientSession() as client:
        page = await client.ws_connect(
            f"{served.url}/ws?width=120&height=40&token={served.token}", max_msg_size=0
        )
        reading = asyncio.create_task(read(page))
        try:
            yield received, lambda keys: page.send_str(json.dumps(["stdin", keys]))
        finally:
            await page.close()
            await reading


def open_files(pid, numbers=None):
    """Return the targets of a process's file descriptors, or of some of them."""
    folder, found = f"/proc/{pid}/fd", set()
    for number in numbers or os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # may have been closed
            found.add(os.readlink(f"{folder}/{number}"))
    assert found
    return found


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_each_page_is_a_session_with_the_servers_options_until_the_server_ends():
    with Served("--rate", "20", "--tasks", "asyncio=7") as served:
        async with page_of(served) as first:
            await eventually(lambda: b"7 live" in first[0], lambda: "7 tasks are live")
            assert b"20 Hz" in first[0]
            assert b"uvloop" not in first[0]
            async with page_of(served) as second:
                received, type_ = second
                await eventually(lambda: b"drag the slider" in received, lambda: "the screen is shown")
                await type_("+")
                await eventually(
                    lambda: b"10,000" in received and b"live" in received, lambda: "10,000 are live"
                )
                await eventually(
                    lambda: (
                        [len(workers_of(screen)) for screen in served.screens()] == [1, 1]
                        and len(served.tree.children(recursive=True)) == 4  # once the trials have ended
                    ),
                    lambda: "both pages have a worker",
                )
                processes = served.tree.children(recursive=True)
                for worker in served.workers():  # which inherits nothing of its page
                    assert not set(page_environment(80, 24)) & set(worker.environ())
                    if sys.platform.startswith("linux"):
                        assert not open_files(worker.ppid(), range(3)) & open_files(worker.pid)
            (kept,) = until(lambda: len(served.screens()) == 1 and served.screens(), "one session remains")
            assert_ended([process for process in processes if process not in (kept, *kept.children())])
            await eventually(lambda: len(served.workers()) == 1, lambda: "one worker remains")
            served.process.send_signal(signal.SIGINT)
            await eventually(lambda: served.process.poll() is not None, lambda: "the server has ended")
            assert served.process.returncode == -signal.SIGINT
            assert_ended(processes)
        _, errors = served.process.communicate(timeout=PATIENCE)
        assert errors == ""


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_killing_the_server_ends_lanes_on_other_hosts():
    with Served("--tasks", "asyncio=7", "--", "--host", "env HOST=web1") as served:
        async with page_of(served) as (received, _):
            await eventually(
                lambda: b"7 live" in received and b"HOST=web1" in received,
                lambda: "7 tasks are live on the host",
            )
            await eventually(  # the screen, the bridge and its worker, once those of the trial have ended
                lambda: len(served.tree.children(recursive=True)) == 3, lambda: "three processes"
            )
            processes = served.tree.children(recursive=True)
            served.process.kill()
            assert_ended(processes)


NAPS = "import asyncio\nasync def nap():\n    await asyncio.sleep(600)\nasyncio.run(nap())"


@pytest.mark.real
@pytest.mark.timeout(240)
async def test_a_watched_program_ends_with_its_page():
    with Served("watch", "--", sys.executable, "-c", NAPS, screen=()) as served:
        async with page_of(served) as (received, type_):
            await eventually(lambda: b"nap" in received and b"tasks by function" in received)
            processes = served.tree.children(recursive=True)
            below = []
            for process in processes[1:]:
                with contextlib.suppress(psutil.Error):  # what estimates kernel memory ends soon
                    below.append((" ".join(process.cmdline()), process.environ()))
            assert any("nap()" in line for line, _ in below)
            assert not any("TEXTUAL_DRIVER" in variables for _, variables in below)
            await type_("enter")
        assert_ended(processes)


def test_serve_accepts_only_commands_with_a_screen_and_their_options():
    assert 'unknown command "run"; expected one of watch, attach, replay' in refused("serve", "run")
    line = refused("serve", "--rate", "5", "watch", "--", "true")
    assert line.startswith('--rate=5 is not an option of "watch"; expected only options of "watch", after it')
    assert 'unknown host "nowhere"' in refused("serve", "--", "--host", "nowhere")
    assert '"run" after "--"; expected only options of the screen' in refused(
        "serve", "--", "--rate", 5, "run"
    )


THIS_HOST = {socket.gethostname(), f"{socket.gethostname()}.local", socket.getfqdn()}


@pytest.mark.parametrize(
    ("options", "names", "warns"),
    [
        ((), {"127.0.0.1"}, False),
        (("--host", "127.1", "--name", "Proxy.example"), {"127.1", "Proxy.example"}, False),
        (("--host", "0.0.0.0"), {"0.0.0.0", *THIS_HOST}, True),
    ],
)
def test_the_names_of_the_host_are_allowed_and_other_interfaces_cause_a_warning(
    options, names, warns, monkeypatch
):
    allowed = []
    monkeypatch.setattr(serve, "_serve", lambda listening, command, names, url, token: allowed.append(names))
    monkeypatch.setattr(serve, "run_until_signal", lambda work: (None, 2))
    done = invoke("serve", "--port", "0", *options)
    assert (allowed, done.exit_code) == ([names], 130)
    warning = (
        r"concwatch: warning: anyone with the token who can reach 0\.0\.0\.0, port \d+, "
        r"can run code on this machine as you\n"
    )
    assert re.fullmatch(warning if warns else "", done.stderr)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_listening_on_all_ipv6_addresses_includes_ipv4():
    with listen("::", 0) as listening:
        socket.create_connection(("127.0.0.1", listening.getsockname()[1])).close()


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits open files of a process")
def test_bad_requests_and_too_many_open_files_are_logged_once_a_minute():
    def status(headers):
        with socket.create_connection(address, PATIENCE) as client:
            client.sendall(f"GET /?token={served.token} HTTP/1.1\r\n{headers}\r\n".encode())
            return client.recv(1 << 12)[9:12]

    bad = ("", "Host: a\r\nHost: b\r\n", "Host: 127.0.0.1\r\nContent-Length: x\r\n")
    with Served() as served:
        address = ("127.0.0.1", int(served.url.rpartition(":")[2]))
        assert {status(headers) for headers in 3 * bad} <= {b"400", b"403"}
        count = served.tree.num_fds()
        served.tree.rlimit(psutil.RLIMIT_NOFILE, (count + 2, count + 50))
        clients = [socket.create_connection(address, PATIENCE) for _ in range(6)]
        lines = [""]
        while "Too many open files" not in lines[-1]:
            lines.append(served.process.stderr.readline())
        for client in clients:
            client.close()
        assert status("Host: 127.0.0.1\r\n") == b"303"
        served.process.terminate()
        _, errors = served.process.communicate(timeout=PATIENCE)
    assert len(lines) <= len(bad) + 2
    assert "Too many open files" not in errors
    assert "Traceback" not in errors


# In a real browser.


BROWSER = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def tasks_live(browser):
    found = re.search(r"([\d,]+) live", "\n".join(browser.lines()))
    return found and found[1]


FONT_SIZE = "return Number(testTerminal.options.fontSize)"
TERMINAL_SIZE_AND_EDGE = """
const {cols, rows, buffer: {active}} = testTerminal;
const edge = active.getLine(active.viewportY + (rows >> 1)).getCell(cols - 1).getBgColor();
return [cols, rows, [edge >> 16, (edge >> 8) & 255, edge & 255]];
"""


@pytest.mark.real
@BROWSER
@pytest.mark.timeout(400)
def test_in_a_browser_the_screen_can_be_used_resized_and_downloads_files(tmp_path):
    pictures, recordings = tmp_path / "pictures", tmp_path / "recordings"
    options = ("--screenshots", str(pictures), "--recordings", str(recordings))
    with contextlib.closing(Browser(tmp_path)) as browser, Served(*options) as served:
        browser.open(served.address)
        browser.wait_for("RSS", "live tasks", "what a task costs", "drag the slider", "○ off", "1 asyncio")
        assert browser.run("return document.fonts.check(\"16px 'Roboto Mono'\")")
        (screen,) = served.screens()
        assert served.workers() == []

        worker = switch_on_and_drag(browser, served)
        save(browser, pictures, recordings)
        resize_and_change_theme(browser)
        assert browser.console_errors() == []

        # Leaving the page ends its session.
        browser.open("about:blank")
        assert_ended([screen, worker])
        until(lambda: not served.screens(), "the screen has exited")

        # A page shows why its program failed.
        with Served("replay", str(tmp_path / "<b>none"), screen=()) as failing:
            browser.open(failing.address)
            text = until(
                lambda: "gone" in (text := browser.run("return words.innerText")) and text, "the message"
            )
            first, *_, last = text.splitlines()
            assert first == "This session has ended; its tasks are gone."
            assert '/<b>none" does not exist' in last

        # Another visit starts another session, which ends with the browser.
        browser.open(served.address)
        browser.wait_for("drag the slider")
        browser.type("+")
        until(lambda: tasks_live(browser) == "10,000", "10,000 are live")
        until(lambda: len(served.tree.children(recursive=True)) == 2, "the worker of the trial has ended")
        processes = served.tree.children(recursive=True)
        browser.kill()
        assert_ended(processes)
        assert served.process.poll() is None


def switch_on_and_drag(browser, served):
    """Switch the lane on by a click and drag its slider; return its worker."""
    browser.mouse(browser.find("○ off"))
    browser.wait_for("● on", "0 live")
    (worker,) = until(served.workers, "a worker is running")
    idle = worker.memory_info().rss
    column, line = browser.find("●───")
    assert line == browser.find("1 asyncio")[1] + 1
    browser.mouse((column, line), (column + 10, line), (column + 29, line), held=True)
    # The pointer moves faster than a busy screen draws: wait until the handle has arrived.
    until(lambda: browser.lines()[line].startswith("●", column + 29), "the handle has arrived")
    target = re.search(r"([\d,]+) → about", "\n".join(browser.lines()))[1]
    browser.release()
    browser.wait_for("tasks live after")
    count = int(target.replace(",", ""))
    assert count >= 1_000
    until(lambda: tasks_live(browser) == target, lambda: f"{target} are live: {tasks_live(browser)}")
    until(lambda: worker.memory_info().rss > idle + 500 * count, "its RSS grows")
    browser.wait_for("M┤", "┴", "now", " KiB ")
    assert any("\u2800" < char < "\u2900" for row in browser.lines() for char in row), "no chart"
    return worker


def save(browser, pictures, recordings):
    """Save a picture and a recording, and wait for their downloads."""

    def downloaded(folder, pattern):
        (saved,) = until(lambda: list(folder.glob(pattern)), f"a {pattern} is saved")
        copy = browser.downloads / saved.name
        until(lambda: copy.exists() and copy.read_bytes() == saved.read_bytes(), f"{copy} is complete")

    browser.type("s")
    downloaded(pictures, "*.png" if can_draw() else "*.svg")
    browser.type("r")
    browser.wait_for("● rec")
    browser.type("r")
    downloaded(recordings, "*.jsonl")
    assert len(list(browser.downloads.iterdir())) == 2


def resize_and_change_theme(browser):
    """Check the font size in windows of several sizes, and that the margin has the screen's color."""
    for width, height, dots in [(1280, 900, 2), (800, 600, 2), (1500, 900, 1)]:
        browser.window(width, height, dots)
        size = {900: 16, 600: 11}[height]
        until(lambda: browser.run(FONT_SIZE) == size, lambda: browser.run(FONT_SIZE))  # noqa: B023
        columns, lines, _ = browser.run(TERMINAL_SIZE_AND_EDGE)
        assert (columns >= 120, lines >= 40) == (True, True)

    def edge():
        picture = Image.open(io.BytesIO(browser.picture())).convert("RGB")
        _, _, last = browser.run(TERMINAL_SIZE_AND_EDGE)
        margin = {picture.getpixel(place) for place in ((1499, 450), (750, 899), (1499, 899))}
        return margin == {tuple(last)} and margin

    dark = until(edge, lambda: browser.run(TERMINAL_SIZE_AND_EDGE))
    for keys, shown in [
        ("\\x10", "Search"),
        ("theme", "Change the current theme"),
        ("\\r", "textual-light"),
        ("textual-light", "textual-light"),
        ("\\r", ""),
    ]:
        browser.run(f'testTerminal.input("{keys}")')
        browser.wait_for(shown)
    until(lambda: edge() not in (False, dark), lambda: browser.run(TERMINAL_SIZE_AND_EDGE))
