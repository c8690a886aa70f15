"""Groups of tasks of one coroutine function, and the resources of a watched process.

In: the reports of its agent. Out: what each group does now, its growth, and the order in which groups are
shown.
"""
