"""All faults there are: each of these modules adds its own, in the order of the table."""

from tests.faults import workers, words, workloads, ends, streams, walls, budget, engines, terminals, soak  # noqa: F401, I001
from tests.faults.fault import FAULTS as FAULTS
