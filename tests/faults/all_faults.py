"""All faults. Importing a module adds its faults to `FAULTS`; the order is that of the table."""

from tests.faults import workers, wire, ends, streams, limits, budget, engines, terminals, soak  # noqa: F401, I001
from tests.faults.fault import FAULTS as FAULTS
