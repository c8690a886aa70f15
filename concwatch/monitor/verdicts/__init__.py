"""Conclusions drawn from figures, and reported as events: growth, leaks, blocks, standstills, throttling,
failures.

In: the figures of a process over time. Out: sentences in the event log, told while something lasts and
taken back when it no longer holds.
"""
