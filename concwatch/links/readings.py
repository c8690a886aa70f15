"""Readings of processes on other hosts, from the figures that bridges report."""

from concwatch.links.messages import ProcessFigures, ProcessRow
from concwatch.system.process import CpuShare, Reading

OF_ROWS = ("pss", "memory_limit", "memory_used", "started")
"""The figures that only watched processes have."""


class ReportedReadings:
    """Makes readings of one process from its reported figures."""

    def __init__(self) -> None:
        self._share: CpuShare | None = None

    def reading(self, time: float, figures: ProcessFigures | ProcessRow) -> Reading:
        """Return the reading at ``time``, in seconds on that host's clock."""
        if self._share is None:
            self._share = CpuShare(time, figures.cpu_seconds)
        return Reading(
            rss=figures.rss,
            cpu=self._share.at(time, figures.cpu_seconds),
            threads=figures.threads,
            virtual=figures.virtual,
            cpu_seconds=figures.cpu_seconds,
            peak_rss=figures.peak_rss,
            kernel_stack=figures.kernel_stack,
            page_tables=figures.page_tables,
            kernel_objects=figures.kernel_objects,
            objects_known=figures.objects_known,
            cpu_quota=figures.cpu_quota,
            throttled=figures.throttled,
            **{name: getattr(figures, name, None) for name in OF_ROWS},
            anonymous=figures.anonymous,
            shared=figures.shared,
            shared_grown=figures.shared_grown,
            state=figures.state,
        )
