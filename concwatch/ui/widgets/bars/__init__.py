"""Bars at the edges of a screen: status, keys, replay, runs of experiments, captions."""
