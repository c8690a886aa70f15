"""Metrics as text for Prometheus, in the format OpenMetrics 1.0 and in its predecessor.

prometheus_client takes 20 µs for each of some thousand lines, which was more than half of a scrape.
"""

from collections.abc import Iterable, Iterator, Sequence

from concwatch.exporters.families import Collected, Family, MetricType
from concwatch.monitor.statistics.buckets import BOUNDS, Buckets

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
"""The media types of both formats."""

_BOUNDS = (*map(str, BOUNDS), "+Inf")
_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def exposition(found: Iterable[Collected], openmetrics: bool) -> str:
    """Return metrics as text."""
    lines: list[str] = []
    for family, values in found:
        lines += _head(family, openmetrics)
        names = [f'{name}="' for name in family.labels]
        for labels, value in values:
            pairs = sorted(
                [name + text.translate(_ESCAPED) + '"' for name, text in zip(names, labels, strict=True)]
            )
            if isinstance(value, Buckets):
                lines += _histogram(family.name, pairs, value)
            else:
                [name] = family.samples
                lines.append(
                    f"{name}{{{','.join(pairs)}}} {float(value)}" if pairs else f"{name} {float(value)}"
                )
    return "\n".join([*lines, "# EOF\n" if openmetrics else ""])


def _head(family: Family, openmetrics: bool) -> Iterator[str]:
    # A counter's own name has no suffix in OpenMetrics; before, there were only the names of time series.
    name = family.name if openmetrics or family.type is MetricType.HISTOGRAM else family.samples[0]
    yield f"# HELP {name} {family.meaning.translate(_ESCAPED) if openmetrics else family.meaning}"
    yield f"# TYPE {name} {family.type.value}"
    if openmetrics and family.unit:
        yield f"# UNIT {name} {family.unit}"


def _histogram(name: str, pairs: Sequence[str], value: Buckets) -> Iterator[str]:
    labels, counts = ",".join(pairs), value.cumulative
    for bound, count in zip(_BOUNDS, counts, strict=True):
        yield f'{name}_bucket{{{labels},le="{bound}"}} {count}.0'
    yield f"{name}_sum{{{labels}}} {value.seconds}"
    yield f"{name}_count{{{labels}}} {counts[-1]}.0"
