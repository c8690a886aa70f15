"""Commands that measure: runs, sweeps, experiments, comparisons, and what this machine can hold."""
