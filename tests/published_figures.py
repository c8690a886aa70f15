"""Hold the published figures in the experiments' files against the articles that they come from, both ways.

``python -m tests.published_figures FOLDER`` reads the articles in FOLDER, says what differs and exits with 1
if anything does.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.loading import load

SOURCES = Path(__file__).resolve().parents[2] / "shared" / "sources"

Figures = dict[int, float]
"""Size → figure."""
Tables = dict[tuple[str, str], Figures]
"""Title of a table and name of a series in an experiment's file → figures."""

SIZES = {"tasks-1": 1, "tasks-10k": 10_000, "tasks-100k": 100_000, "tasks-1M": 1_000_000}


PRIMES = "Primes below 200,000, counted so many times at once"


class ArticleError(Exception):
    """An article is not as this script knows it."""


def _figure(text: str) -> float:
    return float(text.replace(",", ""))


def _one(text: str, pattern: str) -> float:
    """Return the one figure that ``pattern`` finds, which may be said more than once."""
    found = {_figure(figure) for figure in re.findall(pattern, text)}
    if len(found) != 1:
        raise ArticleError(f"{pattern}: found {sorted(found) or 'nothing'}: expected one figure")
    return found.pop()


def _rows(text: str, pattern: str) -> Figures:
    """Return the sizes and figures that ``pattern`` finds, each size once."""
    found = [(int(_figure(size)), _figure(figure)) for size, figure in re.findall(pattern, text)]
    if not found or len(dict(found)) != len(found):
        raise ArticleError(f"{pattern}: found {found}: expected rows of different sizes")
    return dict(found)


def _agree(what: str, these: object, those: object) -> None:
    if these != those:
        raise ArticleError(f"{what}: the article says both {these} and {those}")


def read_memory(text: str) -> Tables:
    """Read what threads and coroutines take, the table of both, real RSS, and the estimate of stacks."""
    threads = _rows(text, r"> threads= *(\d+) used ([\d.]+) KiB")
    coroutines = _rows(text, r"> coroutines= *(\d+) used ([\d.]+) KiB")

    side_by_side = text[text.index("Units Threads Coroutines") :].splitlines()[0]
    rows = re.findall(r"(\d+) ([\d,.]+|n/a) ([\d,.]+)(?= |$)", side_by_side.partition("Coroutines")[2])
    _agree("threads", threads, {int(size): _figure(one) for size, one, _ in rows if one != "n/a"})
    _agree("coroutines", coroutines, {int(size): _figure(other) for size, _, other in rows})

    estimate = text[text.index("Units Size (bytes) Size (KiB) Size (MiB)") :].splitlines()[0]
    stacks = re.findall(r"(\d+) ([\d,]+) (\d+) (\d+)(?= |$)", estimate.partition("(MiB)")[2])
    for size, in_bytes, in_kib, in_mib in stacks:
        _agree(f"stacks of {size} in bytes", _figure(in_bytes), int(in_kib) * 1024)
        if size != "1":  # where the article gives the KiB again
            _agree(f"stacks of {size} in MiB", int(in_mib), int(int(in_kib) / 1024 + 0.5))

    return {
        ("Traced memory, halfway through ten sleeps of 0.1 s", "threads"): threads,
        ("Traced memory, halfway through ten sleeps of 0.1 s", "coroutines"): coroutines,
        ("RSS of a process that holds 1,000", "threads, traced"): {
            1_000: _one(text, r"1,000 threads cost about (\d+) megabytes")
        },
        ("RSS of a process that holds 1,000", "coroutines, traced"): {
            1_000: _one(text, r"1,000 coroutines cost about (\d+) megabytes")
        },
        ("RSS that threads add, by size of stack", "32 KiB stack"): {
            int(size): _figure(in_kib) for size, _, in_kib, _ in stacks
        },
    }


def read_downloads(text: str) -> Tables:
    """Read the two times that are given in numbers; of memory there are pictures alone."""
    one_by_one = _one(text, r"took about (\d+) seconds")
    _agree("one after another", one_by_one, _one(text, r"compared to ~(\d+) sec"))
    return {
        ("Time for 100 downloads", "one after another"): {100: one_by_one},
        ("Time for 100 downloads", "pool of 20 threads"): {
            100: _one(text, r"execution time of this test was ~(\d+) sec")
        },
    }


def read_million(text: str) -> Tables:
    """Read the bars of the four charts."""
    tables: Tables = {}
    charts = re.findall(
        r'makeBarChartDeferred\("([^"]+)", "memory \[MB\]", "",\s*\[([^\]]*)\],\s*\{"memory": \[([^\]]*)\]\}',
        text,
    )
    _agree("the charts", [chart for chart, _, _ in charts], list(SIZES))
    for chart, labels, figures in charts:
        for label, figure in zip(re.findall(r'"([^"]*)"', labels), figures.split(","), strict=True):
            label = {"C#": "C# (Mono)"}.get(label, label)  # what runs it here
            row = tables.setdefault(("Peak memory of tasks that sleep ten seconds", label), {})
            row[SIZES[chart]] = float(figure)
    return tables


def read_batching(text: str) -> Tables:
    """Read the pairs of times, each under its number of coroutines: many sleep, few call."""
    tables: Tables = {}
    pairs = re.findall(
        r"With COROUTINE_COUNT=(\d+):\s+• Unbatched: ([\d.]+) seconds\s+• Batched: ([\d.]+) seconds", text
    )
    _agree("pairs of times", len(pairs), text.count("Unbatched:"))
    calls = text.index("Doing actual network calls")
    for size, unbatched, batched in pairs:
        sleeps = text.index(f"With COROUTINE_COUNT={size}:") < calls
        title = "Three sleeps of 0.1 s" if sleeps else "Real HTTP calls, a client of httpx each"
        tables.setdefault((title, "all at once"), {})[int(size)] = float(unbatched)
        tables.setdefault((title, "five chunks"), {})[int(size)] = float(batched)
    return tables


def read_rates(text: str) -> Tables:
    """Read the six listings of rates, three a loop in one order, and the bytes of coroutines."""
    tables: Tables = {}
    listings: list[Figures] = []
    for size, rate in re.findall(r"([\d,]+) tasks\s+([\d,]+) tasks per/s", text):
        if _figure(size) == 100_000:
            listings.append({})
        listings[-1][int(_figure(size))] = _figure(rate)
    _agree("rows of each listing", [len(listing) for listing in listings], [10] * 6)
    titles = ("Created", "Created while older tasks stand unbegun", "Created and ended")
    uvloop = text.index("在我电脑上跑uvloop的数据")
    _agree("listings of asyncio", text[:uvloop].count("100,000 tasks \t"), 3)
    for number, listing in enumerate(listings):
        tables[titles[number % 3], ("asyncio", "uvloop")[number // 3]] = listing

    rows = r"coroutines= *(\d+) used "
    tables["Traced memory of all coroutines", "asyncio"] = total = _rows(text, rows + r"([\d.]+) K/b")
    each = _rows(text, rows + r"[\d.]+ K/b +per:([\d.]+) K/b")
    tables["Traced memory a coroutine", "asyncio"] = each
    for size, figure in each.items():
        _agree(f"{size} coroutines", total[size], round(figure * size, 3))
    return tables


ARTICLES: dict[str, tuple[str, Callable[[str], Tables]]] = {
    "memory-per-task": ("000", read_memory),
    "parallel-io": ("001", read_downloads),
    "million-tasks": ("002", read_million),
    "batching": ("003", read_batching),
    "creation-rate": ("004", read_rates),
}
"""Experiment → the beginning of its article's file, and what reads the figures in it."""


CITED: dict[str, Tables] = {
    "eager-tasks": {
        ("A tree of tasks that never wait", "not eager, 3.12"): {55_987: 1.1034},
        ("A tree of tasks that never wait", "eager, 3.12"): {55_987: 0.51},
    },
    "event-loops": {
        ("Tasks of one turn of the loop", "asyncio"): {50_000: 0.132678},
        ("Tasks of one turn of the loop", "uvloop"): {50_000: 0.081553},
        ("Tasks of one turn of the loop", "rsloop"): {50_000: 0.069384},
    },
    "parallel-python": {
        (PRIMES, "one after another"): {4: 0.909},
        (PRIMES, "threads"): {4: 1.034},
        (PRIMES, "interpreters"): {4: 0.285},
        (PRIMES, "one after another, 3.14t"): {4: 1.045},
        (PRIMES, "threads, 3.14t"): {4: 0.279},
        (PRIMES, "interpreters, 3.14t"): {4: 0.359},
    },
    "pinned-threads": {
        ("Time until all have slept 5 ms, one carrier", "Java 21"): {5_000: 31.791},
        ("Time until all have slept 5 ms, one carrier", "Java 24"): {5_000: 0.454},
    },
    "collectors": {},
    "go-collectors": {},
}
"""Experiment → the figures of a source that is cited by its address and not kept beside the project."""


def written(experiment: Experiment) -> Tables:
    """Return the published figures in an experiment's file."""
    return {
        (table.title, series.name): series.published
        for table in experiment.table
        for series in table.series
        if series.published
    }


def differences(file: Tables, article: Tables) -> Iterator[str]:
    """Yield each figure that the one has and the other has not."""
    for place in {**article, **file}:
        here, there = file.get(place, {}), article.get(place, {})
        for size in sorted({*here, *there}):
            if here.get(size) != there.get(size):
                table, series = place
                yield (
                    f"{table}, {series}, {size:,}: "
                    f"the file says {here.get(size, 'nothing')}, the article {there.get(size, 'nothing')}"
                )


def check(name: str, folder: Path) -> tuple[int, list[str]]:
    """Return the number of figures in an experiment's file, and what is wrong with them."""
    experiment = load(name)
    begin, read = ARTICLES[name]
    (path,) = folder.glob(f"{begin}_*.txt")
    text = path.read_text()
    problems = list(differences(written(experiment), read(text)))
    problems += [f"the article does not say {word}" for word in _words(experiment) if word not in text]
    return sum(len(figures) for figures in written(experiment).values()), problems


def _words(experiment: Experiment) -> Iterator[str]:
    """Yield what is quoted of the source and has to stand in the article letter by letter."""
    source = experiment.source
    assert source is not None
    yield source.article
    if source.author != "not stated":
        yield source.author.partition(",")[0]
    if source.year is not None:
        yield str(source.year)
    # Version numbers and frequencies of clocks.
    yield from re.findall(r"\d+(?:\.\d+)+", f"{source.machine} {source.version}")


def main(folder: Path) -> int:
    """Check every article; give the exit status."""
    wrong = 0
    for name in ARTICLES:
        count, problems = check(name, folder)
        for problem in problems:
            print(f"{name}: {problem}", file=sys.stderr)
        wrong += len(problems)
        print(
            f"{name}: {count} published figures, {'as in the article' if not problems else 'not all right'}"
        )
    return int(wrong > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m tests.published_figures FOLDER, that of the articles")
    sys.exit(main(Path(sys.argv[1])))
