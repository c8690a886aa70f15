"""Fuzz one target or all with a coverage-guided fuzzer (atheris, based on libFuzzer)."""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.target import CORPUS, LIMIT, MEMORY, RUNS, FuzzTarget
from tests.runner import Impossible, markdown, parse

WHAT_TO_INSTALL = "needs atheris: pip install 'concwatch[fuzz]'"

INSTRUMENTED = ["concwatch", "tomllib"]
"""Packages whose branches guide the fuzzer."""

NAMES = {folder.name: "" for folder in sorted(CORPUS.iterdir())}


def main() -> int:
    """Fuzz the selected targets until all inputs have been tried or one breaks a target."""
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
    """Fuzz one target in another process, since the fuzzer exits. Return the number of inputs tried."""
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
    """Fuzz one target in this process, and exit."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import TARGETS
    target: FuzzTarget = next(target for target in TARGETS if target.name == name)
    seeds, words = [seed.read_bytes() for seed in target.seeds], [word.encode() for word in target.words]

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        """Return a mutation by libFuzzer, or a seed with words of the format put in a few places.

        Compiled parsers report no branches, so libFuzzer alone would only try very short inputs.
        """
        random = Random(seed)
        if random.random() < 0.5:
            return atheris.Mutate(data, longest)
        mutated = random.choice(seeds) if random.random() < 0.5 else data
        for _ in range(random.randint(1, 4)):
            at, deleted = random.randint(0, len(mutated)), random.choice((0, 0, 1, 4, 40))
            word = random.choice(words) * random.choice((1, 1, 1, 50))
            mutated = mutated[:at] + word + mutated[at + deleted :]
        return mutated[:longest]

    folder = Path(tempfile.mkdtemp(prefix=f"concwatch-fuzz-{name}-"))
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    (folder / "words").write_text("".join(f'"{word}"\n' for word in escaped))
    (folder / "corpus").mkdir()
    atheris.Setup(
        [
            "tests.fuzz",
            f"-runs={runs}",
            f"-seed={seed}",
            f"-max_len={target.longest}",
            f"-timeout={LIMIT}",
            f"-rss_limit_mb={MEMORY}",
            f"-dict={folder}/words",
            f"-artifact_prefix={folder}/",
            "-print_final_stats=1",
            str(folder / "corpus"),
            str(target.seeds[0].parent),
        ],
        target.check,
        custom_mutator=mutate,
    )
    print(f"inputs that break it are saved in {folder}", file=sys.stderr)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
