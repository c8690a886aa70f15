"""Try inputs that a coverage-guided fuzzer makes up (atheris, which is libFuzzer) on one target."""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.target import LIMIT, MEMORY, RUNS

INSTRUMENTED = ["concwatch", "tomllib"]
"""Packages in which it is seen which branch an input takes."""

WHAT_TO_INSTALL = "needs atheris: pip install 'concwatch[fuzz]'"


def main() -> None:
    """Parse the command line, and fuzz until so many inputs have been tried, or one breaks something."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", metavar="TARGET", help="which one; a wrong name lists all")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"inputs to try [{RUNS:,}]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="other inputs; 0 is any")
    options = parser.parse_args()
    try:
        import atheris
    except ImportError:
        parser.error(WHAT_TO_INSTALL)
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import TARGETS
    target = next((target for target in TARGETS if target.name == options.target), None)
    if target is None:
        parser.error(f"no such target: expected one of {', '.join(target.name for target in TARGETS)}")
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

    found = Path(tempfile.mkdtemp(prefix=f"concwatch-fuzz-{target.name}-"))
    (found / "words").write_text("".join(f'"{escaped(word)}"\n' for word in target.words))
    (found / "kept").mkdir()
    atheris.Setup(
        [
            "tests.fuzz",
            f"-runs={options.runs}",
            f"-seed={options.seed}",
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


def escaped(word: str) -> str:
    """Write a word as libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
