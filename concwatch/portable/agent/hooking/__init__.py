"""Replaces functions of asyncio, threads, executors, gevent and trio with ones that count, and restores them.

In: modules that the program has imported, or imports later. Out: calls of `counting`. Each replacement
passes everything on, and adds no frame to tracebacks.
"""
