"""Watched programs: their processes, groups of tasks and resources.

In: the reports of agents, and readings of their processes. Out: the current state of each process, and the
groups of its tasks.
"""
