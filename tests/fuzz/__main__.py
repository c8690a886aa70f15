"""Try inputs that a coverage-guided fuzzer (atheris, which is libFuzzer) makes up, on one target or each."""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.commands import Impossible, markdown, parse
from tests.fuzz.target import CORPUS, LIMIT, MEMORY, RUNS, Target

WHAT_TO_INSTALL = "needs atheris: pip install 'concwatch[fuzz]'"

INSTRUMENTED = ["concwatch", "tomllib"]
"""Packages in which it is seen which branch an input takes."""

NAMES = {folder.name: "" for folder in sorted(CORPUS.iterdir())}


def main() -> int:
    """Parse the command line, and fuzz until so many inputs have been tried, or one breaks something."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"inputs to try [{RUNS:,}]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="other inputs; 0 is any")
    options = parse(parser, NAMES)
    if importlib.util.find_spec("atheris") is None:
        parser.error(WHAT_TO_INSTALL)
    if len(options.names) == 1:
        fuzz(options.names[0], options.runs, options.seed)
    rows = []
    for name in options.names:
        try:
            rows.append((name, f"{fuzz_apart(name, options.runs, options.seed):,}", ""))
        except AssertionError as error:
            rows.append((name, "", str(error).splitlines()[-1]))
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    print(markdown(("reader", "inputs", "broken by"), rows))
    return int(any(broken for _, _, broken in rows))


def fuzz_apart(name: str, runs: int, seed: int = 0) -> int:
    """Fuzz one target in a process of its own, since the fuzzer ends its process; return the inputs tried."""
    if importlib.util.find_spec("atheris") is None:
        raise Impossible(WHAT_TO_INSTALL)
    command = [sys.executable, "-m", "tests.fuzz", "--only", name, "--runs", str(runs), "--seed", str(seed)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False
    )
    tried = re.search(r"^Done (\d+) runs", done.stderr, re.M)
    assert done.returncode == 0, done.stderr[-3000:]
    assert tried is not None, done.stderr[-3000:]
    assert int(tried[1]) >= runs, tried[0]
    return int(tried[1])


def fuzz(name: str, runs: int, seed: int) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import TARGETS
    target: Target = next(target for target in TARGETS if target.name == name)
    seeds, words = [seed.read_bytes() for seed in target.seeds], [word.encode() for word in target.words]

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        """Return other bytes: of libFuzzer's making, or a seed's with something else in a few places.

        What compiled code reads shows no branches, so libFuzzer alone would try nothing but the shortest.
        """
        luck = Random(seed)
        if luck.random() < 0.5:
            return atheris.Mutate(data, longest)
        mutated = luck.choice(seeds) if luck.random() < 0.5 else data
        for _ in range(luck.randint(1, 4)):
            at, gone = luck.randint(0, len(mutated)), luck.choice((0, 0, 1, 4, 40))
            mutated = mutated[:at] + luck.choice(words) * luck.choice((1, 1, 1, 50)) + mutated[at + gone :]
        return mutated[:longest]

    found = Path(tempfile.mkdtemp(prefix=f"concwatch-fuzz-{name}-"))
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    (found / "words").write_text("".join(f'"{word}"\n' for word in escaped))
    (found / "kept").mkdir()
    atheris.Setup(
        [
            "tests.fuzz",
            f"-runs={runs}",
            f"-seed={seed}",
            f"-max_len={target.longest}",
            f"-timeout={LIMIT}",
            f"-rss_limit_mb={MEMORY}",
            f"-dict={found}/words",
            f"-artifact_prefix={found}/",
            "-print_final_stats=1",
            str(found / "kept"),
            str(target.seeds[0].parent),
        ],
        target.check,
        custom_mutator=mutate,
    )
    print(f"what breaks it is kept in {found}", file=sys.stderr)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
