"""Lanes and the lab that holds them: their life cycle, what a task costs, admission control and forecasts.

In: targets, settings and the messages of workers. Out: samples of each lane, events, and how many more
tasks fit.
"""
