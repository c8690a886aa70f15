"""A headless browser for tests of the page, driven over the WebDriver protocol."""

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
"""The last one blocks every network except loopback."""

# The page has no public reference to its terminal. Add-ons store it in an attribute of this name when they
# are loaded, where a setter intercepts it; its text is then read with the terminal's public functions.
INTERCEPT_TERMINAL = """
Object.defineProperty(Object.prototype, "_terminal", {
  configurable: true,
  get() { return undefined; },
  set(value) {
    if (value && value.buffer) window.testTerminal = value;
    Object.defineProperty(this, "_terminal", {value, writable: true, configurable: true, enumerable: true});
  },
});
"""

READ_LINES = """
if (!window.testTerminal) return [];
const buffer = window.testTerminal.buffer.active;
return Array.from({length: window.testTerminal.rows}, (_, line) =>
  buffer.getLine(buffer.viewportY + line).translateToString());
"""

SCREEN_BOX = """
const box = document.querySelector(".xterm-screen").getBoundingClientRect();
return [box.x, box.y, box.width / window.testTerminal.cols, box.height / window.testTerminal.rows];
"""

PATIENCE = 60.0
"""Seconds to wait for anything, on a busy machine."""


def until(condition, what, seconds=PATIENCE):
    """Wait until ``condition()`` is true, and return its value. ``what`` is or returns its description."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"timed out: {what() if callable(what) else what}"
        time.sleep(0.05)
    return found


class Browser:
    """Chromium with one page, and a new profile in ``folder``."""

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
            self._port = int(until(self._logged_port, "the driver listens"))
            options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={folder / 'profile'}"]}
            capabilities = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
            self._session = self._request("POST", "/session", capabilities)["sessionId"]
            self.command("Page.addScriptToEvaluateOnNewDocument", source=INTERCEPT_TERMINAL)
            self.downloads = folder / "downloads"
            self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        except BaseException:
            self.kill()
            raise

    def _logged_port(self):
        found = re.search(r"successfully on port (\d+)", Path(self._log.name).read_text())
        return found and found[1]

    def _request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=2 * PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body or {}) if method == "POST" else None)
            value = json.loads(connection.getresponse().read())["value"]
        assert not (isinstance(value, dict) and "error" in value), value["message"]
        return value

    def do(self, action, **arguments):
        """Send a WebDriver command, and return its value."""
        return self._request("POST", f"/session/{self._session}/{action}", arguments)

    def command(self, name, **params):
        """Send a command of Chromium's DevTools protocol."""
        self.do("goog/cdp/execute", cmd=name, params=params)

    def open(self, url):
        self.do("url", url=url)

    def run(self, script):
        return self.do("execute/sync", script=script, args=[])

    def window(self, width, height, dots):
        """Set the page's size in CSS pixels, and the device pixels of each."""
        size = {"width": width, "height": height, "deviceScaleFactor": dots}
        self.command("Emulation.setDeviceMetricsOverride", mobile=False, **size)

    def console_errors(self):
        """Return the errors in the page's console since the last call."""
        entries = self.do("se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def picture(self):
        """Return a screenshot of the page as PNG."""
        return base64.b64decode(self._request("GET", f"/session/{self._session}/screenshot"))

    def lines(self):
        """Return the lines of text in the page's terminal."""
        return self.run(READ_LINES)

    def wait_for(self, *words):
        """Wait until the terminal shows all of these."""

        def missing():
            text = "\n".join(self.lines())
            return [word for word in words if word not in text]

        until(lambda: not missing(), lambda: f"no {missing()} in\n" + "\n".join(self.lines()))

    def find(self, text):
        """Return column and line of the first occurrence of a text, in cells."""
        return next((row.index(text), line) for line, row in enumerate(self.lines()) if text in row)

    def mouse(self, *cells, held=False):
        """Press the left button in the first cell, move over the others, and release it, unless ``held``."""
        x, y, width, height = self.run(SCREEN_BOX)
        points = [
            (round(x + (column + 0.5) * width), round(y + (line + 0.5) * height)) for column, line in cells
        ]
        steps = [{"type": "pointerMove", "duration": 150, "x": x, "y": y} for x, y in points]
        steps.insert(1, {"type": "pointerDown", "button": 0})
        self._act("pointer", steps)
        if not held:
            self.release()

    def release(self):
        self._act("pointer", [{"type": "pointerUp", "button": 0}])

    def type(self, text):
        self._act("key", [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")])

    def _act(self, device, steps):
        self.do("actions", actions=[{"type": device, "id": device, "actions": steps}])

    def kill(self):
        """Kill the browser and its driver."""
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
