"""What the tasks of a lane run: callables of workloads and of the user, their set-up, their failures."""
