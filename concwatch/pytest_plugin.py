"""pytest's options ``--concwatch`` and ``--concwatch-fail``. Without them, nothing else is imported."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("concwatch")
    group.addoption(
        "--concwatch",
        action="store_true",
        help="Report the asyncio tasks, threads and executors that each test leaves over.",
    )
    group.addoption(
        "--concwatch-fail",
        action="store_true",
        help="Like --concwatch, and report such a test as an error at its teardown.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what reports leftover tasks, if it was asked for."""
    if config.option.concwatch or config.option.concwatch_fail:
        from concwatch.pytest_left_over import LeftOverPlugin  # imported late: nothing is added otherwise

        config.pluginmanager.register(LeftOverPlugin(config.option.concwatch_fail), "concwatch-left-over")
