"""A real Prometheus."""

import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from tests.processes import PATIENCE

PROMETHEUS = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
"""The program. Debian's receive no OTLP: name another one for the test of that."""

SCRAPE = """
global: {evaluation_interval: 500ms}
rule_files: [%s]
scrape_configs:
  - job_name: app
    scrape_interval: 500ms
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def receives_otlp():
    """Return whether there is a Prometheus that receives OTLP."""
    if not PROMETHEUS:
        return False
    said = subprocess.run([PROMETHEUS, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    return "--web.enable-otlp-receiver" in said.stdout + said.stderr


class Prometheus:
    """A Prometheus that scrapes ``port``, with its files in a folder."""

    def __init__(self, folder, port=1, *options, rules=""):
        web = free_port()
        self.address = f"http://127.0.0.1:{web}"
        (folder / "prometheus.yml").write_text(SCRAPE % (rules, port))
        command = [
            PROMETHEUS,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{web}",
            *options,
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, **quiet)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Kill it."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def ask(self, path, **arguments):
        """Return the data of an answer of its API; None while it does not listen."""
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 400:  # the query is wrong
                raise AssertionError(error.read()) from None
            return None
        except OSError:
            return None

    def rows(self, query):
        """Return the labels and the value of each time series that a query finds now."""
        found = self.ask("query", query=query)
        return [(row["metric"], float(row["value"][1])) for row in found["result"]] if found else []

    def values(self, query):
        """Return the values that a query finds now."""
        return [value for _, value in self.rows(query)]
