"""What is measured and watched, without a terminal.

A lane is an engine that the user has switched on, with a target; `lanes` holds all of them and what they may
use, `workers` the process that runs the tasks of one. `watching` holds all watched programs, `processes` what
is known of one process, `groups` of its tasks. All share `metrics`, `verdicts` such as leaks, and `statistics`.
"""
