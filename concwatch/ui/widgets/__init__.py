"""Widgets, by what they are part of: `charts`; `lanes`, with their cards and sliders; `tables` of costs,
groups, blocks and events; `bars` of keys and of the transport at the edges of a screen; and `text`.
"""
