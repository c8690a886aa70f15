"""Experiments: published benchmarks as files, the runner, and the reports."""
