"""Measurements of lanes, from idle to their end: `run`, sweeps, experiments, comparisons and `doctor`."""
