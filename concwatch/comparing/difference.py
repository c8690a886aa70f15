"""Two measurements of one figure, and whether they differ by more than the spread.

The rule: a difference is beyond the spread when the range of A, from its lowest to its highest value, and
that of B have no value in common. Ranges that touch have one in common. Of one value the range is that value.
Where both sides have one value only nobody knows the spread; then any difference counts, and it is said
that the spread is unknown.
"""

import math
from dataclasses import dataclass

from concwatch.comparing.side import Quantity
from concwatch.measure.measured import Measured

EXACT = 9
"""Decimals of a share that count: the tenth is an error of floating point, not a change."""


@dataclass(frozen=True)
class Difference:
    """One figure of both sides."""

    quantity: Quantity
    a: Measured
    b: Measured

    @property
    def change(self) -> float:
        """How much more B has, in the figure's own unit."""
        return self.b.median - self.a.median

    @property
    def ratio(self) -> float | None:
        """B over A; None where that means nothing."""
        a, b = self.a.median, self.b.median
        ratio = b / a if a > 0 and b >= 0 else math.inf
        return ratio if math.isfinite(ratio) else None

    @property
    def spread_known(self) -> bool:
        """Whether at least one side has more than one value."""
        return self.a.count > 1 or self.b.count > 1

    @property
    def real(self) -> bool:
        """Whether they differ beyond the spread, by the rule above, or differ with no spread known."""
        if not self.change:
            return False
        return self.a.high < self.b.low or self.b.high < self.a.low

    @property
    def worse_by(self) -> float:
        """How much worse B is, as a share of A: negative where it is better, infinite over an A of 0."""
        change = self.quantity.worse * self.change
        if not change:
            return 0.0
        return round(change / abs(self.a.median), EXACT) if self.a.median else math.copysign(math.inf, change)

    def fails(self, percent: float) -> bool:
        """Whether B is worse by more than ``percent`` of A, and that is beyond the spread."""
        return self.real and self.worse_by > round(percent / 100, EXACT)

    @property
    def verdict(self) -> str:
        """What it comes to, in a few words."""
        if not self.change:
            return "equal"
        if not self.real:
            return "within the spread"
        word = ("differs", "worse", "better")[(self.worse_by > 0) - (self.worse_by < 0)]
        return word if self.spread_known else f"{word}, spread unknown"
