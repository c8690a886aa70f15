"""The program that serves the page which tasks of the workload ``http`` fetch: a process of its own."""
