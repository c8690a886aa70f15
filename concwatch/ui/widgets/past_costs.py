"""What a task cost, as it was recorded."""

from collections.abc import Mapping
from typing import ClassVar

from concwatch.ui.widgets.cost_table import CostTable


class PastCosts(CostTable):
    """Shows every lane's cost; what would have made a better figure, nobody can do any more."""

    ADVICE: ClassVar[Mapping[str, str]] = {}
