"""What a task cost, as it was recorded."""

from concwatch.ui.widgets.cost_table import CostTable


class PastCosts(CostTable):
    """Shows every lane's cost; what would have made a better figure, nobody can do any more."""

    TRACED_NOTE = ("ᵗ taken while traced, about twice the RSS", CostTable.TRACED_NOTE[1])
    KEPT_NOTE = ("≈ counts memory kept from earlier tasks", CostTable.KEPT_NOTE[1])
