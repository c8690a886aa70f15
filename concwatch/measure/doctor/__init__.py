"""The doctor: how many tasks a machine can hold, which limit comes first, and how to raise it."""
