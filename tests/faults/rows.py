"""All faults there are, in the order of the table."""

from tests.faults.fault import Fault

MODULES = ()

FAULTS: tuple[Fault, ...] = tuple(fault for module in MODULES for fault in module.FAULTS)
