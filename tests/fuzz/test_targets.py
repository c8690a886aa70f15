"""Readers of external input: all inputs that ever broke one, and some generated ones.

``python -m tests.fuzz`` tries a million.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.target import CORPUS, FuzzTarget
from tests.fuzz.targets import TARGETS

by_name = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def inputs(target: FuzzTarget) -> st.SearchStrategy[bytes]:
    """Return random bytes, words of the format in any order, and seeds with a part replaced."""
    words = st.sampled_from([word.encode() for word in target.words])
    few = st.lists(words | st.binary(max_size=4), max_size=20).map(b"".join)
    seeds = st.sampled_from([seed.read_bytes() for seed in target.seeds])
    damaged = st.builds(
        lambda seed, at, cut, new: seed[: int(at * len(seed))] + new + seed[int(at * len(seed)) + cut :],
        seeds,
        st.floats(0, 1),
        st.integers(0, 40),
        few,
    )
    return st.binary(max_size=200) | few | damaged


@by_name
def test_inputs_that_once_broke_a_reader_no_longer_do(target):
    assert target.seeds
    for seed in target.seeds:
        try:
            target.check(seed.read_bytes())
        except Exception as error:
            error.add_note(f"seed {seed.name}")
            raise


@by_name
def test_generated_input_is_accepted_or_rejected_with_a_one_line_error(target):
    check = given(inputs(target))(lambda data: target.check(data))
    settings(max_examples=50, suppress_health_check=list(HealthCheck))(check)()


def test_each_corpus_folder_has_a_target():
    assert {folder.name for folder in CORPUS.iterdir()} == {target.name for target in TARGETS}
