"""Finds what tasks and threads wait for, and who could wake them.

In: suspended coroutines and blocked threads. Out: lines, locks, queues and tasks by name, cycles and
deadlocks. It runs on request, and once a thread or a shutdown has lasted for a second.
"""
