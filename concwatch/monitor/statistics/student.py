"""Student's t for confidence intervals, by degrees of freedom from 1 on."""

# fmt: off
T95 = (
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
)
"""The two-sided 95 % quantiles."""
T999 = (
    636.6, 31.6, 12.92, 8.61, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587, 4.437, 4.318, 4.221, 4.140, 4.073,
)
"""The two-sided 99.9 % quantiles."""
# fmt: on


def student_t(quantiles: tuple[float, ...], degrees: int) -> float:
    """Return the quantile for so many degrees of freedom, at least 1; beyond the table its last."""
    return quantiles[min(degrees, len(quantiles)) - 1]
