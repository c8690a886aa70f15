"""The suites, as data: where their tests come from, and how they are run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PYTEST = ("pytest", "pytest-timeout")


@dataclass(frozen=True)
class Suite:
    """The tests of one project."""

    name: str
    requirements: Sequence[str] = ()
    """What pip installs, with the project; nothing for CPython's own tests."""
    source: str = ""
    """The project whose source distribution has the tests; empty if they are installed with it."""
    tests: Sequence[str] = ("tests",)
    """What pytest or unittest is given."""
    options: Sequence[str] = ()
    """Further arguments of pytest."""

    @property
    def is_unittest(self) -> bool:
        """Whether it is run by unittest, in the interpreter itself."""
        return not self.requirements


def _of_cpython(name: str) -> Suite:
    return Suite(name, tests=(f"test.{name}",))


SUITES = (
    *map(_of_cpython, ("test_asyncio", "test_signal", "test_subprocess", "test_threading")),
    Suite(
        "trio",
        (*PYTEST, "trio", "trustme", "pyOpenSSL"),
        tests=("--pyargs", "trio"),
        options=("-p", "trio._tests.pytest_plugin", "--skip-optional-imports"),
    ),
    Suite(
        "anyio",
        (*PYTEST, "anyio[trio]", "blockbuster", "trustme", "truststore", "psutil", "exceptiongroup",
         "hypothesis", "pytest-mock", "uvloop"),
        source="anyio",
        options=("-p", "anyio", "-p", "no:asyncio", "-p", "no:trio"),
    ),
    Suite(
        "async-lru",
        (*PYTEST, "async-lru", "pytest-asyncio"),
        source="async-lru",
        options=("-o", "asyncio_default_fixture_loop_scope=function"),
    ),
    Suite(
        "starlette",
        (*PYTEST, "starlette[full]", "anyio", "trio", "httpx", "httpx2[zstd]", "blockbuster",
         "opentelemetry-sdk", "pytest-codspeed", "importlib-metadata", "typing_extensions",
         "python-multipart"),
        source="starlette",
    ),
    Suite(
        "uvicorn",
        (*PYTEST, "uvicorn[standard]", "a2wsgi", "wsproto", "httpx", "httpx2", "zttp", "trustme",
         "cryptography", "pytest-codspeed", "pytest-mock"),
        source="uvicorn",
    ),
    Suite(
        "aiohttp",
        (*PYTEST, "aiohttp[speedups]", "pytest-mock", "pytest-xdist", "coverage", "isal", "zlib_ng",
         "trustme", "re-assert", "freezegun", "pytest-codspeed", "proxy.py", "time-machine", "blockbuster",
         "python-on-whales", "setuptools-git"),
        source="aiohttp",
        options=("-n", "2", "-m", "not dev_mode and not autobahn and not internal"),
    ),
)  # fmt: skip

CI = ("test_asyncio", "test_signal", "test_subprocess", "test_threading", "trio")
"""The suites that CI runs."""


@dataclass(frozen=True)
class Wrapper:
    """A program that runs another one."""

    prefix: Sequence[str]
    """What is written before the interpreter's arguments; ``{python}`` is the interpreter."""
    requirements: Sequence[str] = ()


BARE = "bare"
WATCH = "concwatch watch"

WRAPPERS: Mapping[str, Wrapper] = {
    BARE: Wrapper(("{python}",)),
    WATCH: Wrapper(("{concwatch}", "watch", "--json", "{report}", "--", "{python}")),
    "coverage run": Wrapper(("{python}", "-m", "coverage", "run"), ("coverage",)),
    "opentelemetry-instrument": Wrapper(
        (
            "{bin}/opentelemetry-instrument",
            "--traces_exporter",
            "none",
            "--metrics_exporter",
            "none",
            "{python}",
        ),
        (
            "opentelemetry-distro",
            "opentelemetry-instrumentation-asyncio",
            "opentelemetry-instrumentation-threading",
        ),
    ),
}

KNOWN: Mapping[tuple[str, str], str] = {
    ("trio", "::test_instrument_that_raises_on_getattr"): (
        "it asserts that nothing else observes the end of tasks, as the agent's instrument does"
    ),
}
"""Suite and the end of a test's name → why its outcome differs under `WATCH` and cannot be the same."""
