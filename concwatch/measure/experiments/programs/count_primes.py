"""As published: count the primes below 200,000 N times by trial division, sequentially or in a pool.

POOL is ``Thread``, ``Process`` or ``Interpreter`` (Python 3.14); by default the count is sequential.
"""

import concurrent.futures
import os
import sys
import time

BELOW = 200_000


def count_primes(below: int) -> int:
    found = 0
    for number in range(2, below):
        divisor = 2
        while divisor * divisor <= number and number % divisor:
            divisor += 1
        found += divisor * divisor > number
    return found


def main(times: int, kind: str) -> float:
    start = time.perf_counter()
    if kind:
        with getattr(concurrent.futures, f"{kind}PoolExecutor")(times) as pool:
            counts = list(pool.map(count_primes, [BELOW] * times))
    else:
        counts = [count_primes(BELOW) for _ in range(times)]
    assert set(counts) == {17_984}
    return time.perf_counter() - start


if __name__ == "__main__":
    print(main(int(sys.argv[1]), os.environ.get("POOL", "")))
