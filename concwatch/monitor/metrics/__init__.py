"""The metrics, one row each, and what is made of the rows: samples, series, snapshots.

In: the rows, and readings of processes. Out: a frozen snapshot of all lanes at one moment, which screens,
recordings and exporters read.
"""
