"""How many tasks at once are enough: throughput at growing numbers of live tasks, and where it bends."""
