import re

from tests.benchmarks.rows import BENCHMARKS


def test_every_benchmark_has_a_name_of_its_own_and_rows():
    names = [benchmark.name for benchmark in BENCHMARKS]
    assert len(set(names)) == len(names)
    for benchmark in BENCHMARKS:
        rows = [row.name for row in benchmark.rows]
        assert rows
        assert len(set(rows)) == len(rows)
        assert callable(benchmark.measure)
        assert re.match("Measure ", benchmark.measure.__doc__)
