"""A real browser without a window, driven over the WebDriver protocol, for tests of the page."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import psutil

from tests.processes import assert_ended

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = None if CHROMIUM and DRIVER else "needs a browser: apt-get install chromium chromium-driver"

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--no-proxy-server", "--window-size=1280,800",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip
"""The last one cuts the browser off from every network but loopback."""

# The page keeps its terminal to itself. The terminal's own add-ons note it under this name when they are
# loaded, which is where it is caught; its text is then read by the terminal's public functions.
CATCH_TERMINAL = """
Object.defineProperty(Object.prototype, "_terminal", {
  configurable: true,
  get() { return undefined; },
  set(value) {
    if (value && value.buffer) window.seenTerminal = value;
    Object.defineProperty(this, "_terminal", {value, writable: true, configurable: true, enumerable: true});
  },
});
"""

READ = """
if (!window.seenTerminal) return [];
const buffer = window.seenTerminal.buffer.active;
return Array.from({length: window.seenTerminal.rows}, (_, line) =>
  buffer.getLine(buffer.viewportY + line).translateToString());
"""

PLACE = """
const box = document.querySelector(".xterm-screen").getBoundingClientRect();
return [box.x, box.y, box.width / window.seenTerminal.cols, box.height / window.seenTerminal.rows];
"""

PATIENCE = 60.0
"""Seconds that anything may take on a loaded machine."""


def until(condition, what, seconds=PATIENCE):
    """Wait for a condition, and give what it gave."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"still not: {what() if callable(what) else what}"
        time.sleep(0.05)
    return found


class Browser:
    """Chromium with one page, and an empty profile in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._log = (folder / "driver.log").open("w+")
        self.driver = subprocess.Popen(
            [DRIVER, "--port=0"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "HOME": str(folder)},
        )
        try:
            self._port = int(until(self._told_port, "the driver listens"))
            options = {
                "binary": CHROMIUM,
                "args": [*FLAGS, f"--user-data-dir={folder / 'profile'}"],
            }
            asked = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
            self._session = self._ask("POST", "/session", asked)["sessionId"]
            self.command("Page.addScriptToEvaluateOnNewDocument", source=CATCH_TERMINAL)
            self.downloads = folder / "downloads"
            self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        except BaseException:
            self.kill()
            raise

    def _told_port(self):
        found = re.search(r"successfully on port (\d+)", Path(self._log.name).read_text())
        return found and found[1]

    def _ask(self, method, path, body=None):
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2 * PATIENCE)
        try:
            line.request(method, path, json.dumps(body or {}) if method == "POST" else None)
            value = json.loads(line.getresponse().read())["value"]
        finally:
            line.close()
        assert not (isinstance(value, dict) and "error" in value), value["message"]
        return value

    def do(self, what, **how):
        return self._ask("POST", f"/session/{self._session}/{what}", how)

    def command(self, name, **params):
        """Send a command of Chromium's own protocol."""
        self.do("goog/cdp/execute", cmd=name, params=params)

    def open(self, url):
        self.do("url", url=url)

    def run(self, script):
        return self.do("execute/sync", script=script, args=[])

    def window(self, width, height, dots):
        """Set the page to so many pixels, each of so many dots a side."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=dots,
            mobile=False,
        )

    def told(self):
        """The errors that stand in the page's console since they were asked for last."""
        entries = self.do("se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def picture(self):
        return base64.b64decode(self._ask("GET", f"/session/{self._session}/screenshot"))

    def lines(self):
        """The lines of text that the page's terminal shows."""
        return self.run(READ)

    def sees(self, *words):
        """Wait until the page shows every one of these."""

        def missing():
            text = "\n".join(self.lines())
            return [word for word in words if word not in text]

        until(lambda: not missing(), lambda: f"seen: {missing()} in\n" + "\n".join(self.lines()))

    def find(self, text):
        """Return column and line of the first place where a text stands, in cells."""
        return next((row.index(text), line) for line, row in enumerate(self.lines()) if text in row)

    def mouse(self, *cells, held=False):
        """Press the left button in the first cell, move over the others, and let go, unless ``held``."""
        x, y, width, height = self.run(PLACE)
        points = [
            (round(x + (column + 0.5) * width), round(y + (line + 0.5) * height)) for column, line in cells
        ]
        steps = [{"type": "pointerMove", "duration": 150, "x": x, "y": y} for x, y in points]
        steps.insert(1, {"type": "pointerDown", "button": 0})
        self._act("pointer", steps)
        if not held:
            self.let_go()

    def let_go(self):
        self._act("pointer", [{"type": "pointerUp", "button": 0}])

    def type(self, text):
        self._act("key", [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")])

    def _act(self, device, steps):
        self.do("actions", actions=[{"type": device, "id": device, "actions": steps}])

    def kill(self):
        """End the browser and its driver by force, each process by itself."""
        found: list[psutil.Process] = []
        if self.driver.poll() is None:
            found = psutil.Process(self.driver.pid).children(recursive=True)
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.driver.kill()
        self.driver.wait(PATIENCE)
        assert_ended(found)
        self._log.close()

    close = kill
