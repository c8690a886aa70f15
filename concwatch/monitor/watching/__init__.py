"""Watched programs: their processes, groups of tasks and resources.

In: the reports of agents, and readings of their processes. Out: what each process is now, and the groups of
its tasks.
"""
