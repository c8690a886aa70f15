"""The metrics, a row each, and what is made of the rows: samples, series, snapshots.

In: rows and readings. Out: a frozen snapshot of all lanes at one moment, which screens, recordings and
exporters read.
"""
