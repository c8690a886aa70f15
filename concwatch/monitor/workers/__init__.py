"""The workers of lanes: which engines there are, and the life, target, cost and durations of a lane's worker.

In: the messages of a worker, and readings of its process. Out: what the worker does now, what a task costs,
and events.
"""
