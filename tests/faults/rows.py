"""All faults there are, in the order of the table."""

from tests.faults import budget, ends, engines, fuzzing, soak, terminals, walls, words, workers, workloads
from tests.faults.fault import Fault

MODULES = (workers, words, workloads, ends, walls, budget, engines, terminals, fuzzing, soak)

FAULTS: tuple[Fault, ...] = tuple(fault for module in MODULES for fault in module.FAULTS)
