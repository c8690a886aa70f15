"""The tests. As a package: each module has one name, ``tests.…``, since their folder is not on the path."""
