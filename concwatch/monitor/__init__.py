"""What is measured and watched, without a terminal.

A lane is an engine that the user has switched on, with a target. `lanes` has all of them, and what they may
use; `workers` has the process that runs the tasks of one. `watching` has all watched programs, `processes`
what is known of one process, `groups` what is known of its tasks. All share `metrics`, `verdicts` such as
leaks, and `statistics`.
"""
