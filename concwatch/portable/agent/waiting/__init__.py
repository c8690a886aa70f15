"""Finds what tasks and threads wait for, and who could wake them.

In: suspended coroutines and blocked threads. Out: lines, locks, queues and tasks by name, cycles and
deadlocks. It runs on request, and once a thread has been blocked, or a shutdown has taken, for more than a
second.
"""
