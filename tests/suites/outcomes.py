"""Writes the outcome of each test to a file: a pytest plugin, and a program that runs modules of unittest.

It runs in the interpreter and the environment of the suite, and uses Python 3.9 syntax:

    OUTCOMES=FILE python -m pytest -p outcomes …
    OUTCOMES=FILE python outcomes.py test.test_signal [test.test_signal.Class.test_name …]
"""

import json
import os
import sys
import unittest

FOUND = {}
"""Name of a test → its outcome. Of several, of its phases or parts, the first bad one counts."""

_PARENT = os.getpid()


def _add(name, outcome):
    if FOUND.get(name, "passed") == "passed":
        FOUND[name] = outcome


def _write():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(FOUND, file)


def pytest_runtest_logreport(report):
    """Add the outcome of one phase of a test."""
    if report.when == "call" or report.outcome != "passed":
        expected = getattr(report, "wasxfail", None) is not None
        _add(report.nodeid, f"x{report.outcome}" if expected else report.outcome)


def pytest_sessionfinish(session):
    """Write the file, but not in a worker of xdist."""
    if not hasattr(session.config, "workerinput"):
        _write()


class _Result(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        _add(test.id(), "passed")

    def addError(self, test, err):
        super().addError(test, err)
        _add(test.id(), "failed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        _add(test.id(), "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        _add(test.id(), "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        _add(test.id(), "xfailed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        _add(test.id(), "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            _add(test.id(), "failed")


def _main():
    import test.support as support

    support.use_resources = []  # as CPython's own runner does: no network, no gigabytes
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    unittest.TextTestRunner(verbosity=2, resultclass=_Result).run(suite)
    if os.getpid() == _PARENT:
        _write()


if __name__ == "__main__":
    _main()
