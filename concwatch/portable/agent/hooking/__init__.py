"""Replaces functions of asyncio, threads, executors, gevent and trio by those that count, and puts them
back.

In: modules that the program has imported, or imports later. Out: calls of `counting`. Each replacement
passes everything on, and adds no frame to tracebacks.
"""
