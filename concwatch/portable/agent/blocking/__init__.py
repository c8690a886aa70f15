"""Finds what blocks event loops and where CPU time goes.

In: heartbeats of loops, and the stacks of their threads while one is overdue. Out: blocks with their lines,
how long loops are busy and with which tasks, and profiles on request. A timer of each loop fires every 30
ms; stacks are only sampled while a loop is late, or on request.
"""
