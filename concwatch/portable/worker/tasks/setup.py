"""Set-up and tear-down: a function of the user that yields the function that each task calls.

It is a generator function, as a fixture of pytest is, which may be decorated with `contextlib.contextmanager`
or `contextlib.asynccontextmanager`. It is entered once in each worker, before the first task.
"""

from __future__ import annotations

import inspect
from contextlib import asynccontextmanager, contextmanager

from concwatch.portable.protocol.text import flat, short_place
from concwatch.portable.worker.tasks.failures import PLACE, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Event, Future
    from typing import Any, Callable, Optional, Sequence


def _code(function: Any) -> Any:
    return getattr(function, "__code__", None)


# All functions that one of these decorators returns have the same code.
_DECORATED = {_code(contextmanager(iter)): False, _code(asynccontextmanager(iter)): True}


def is_asynchronous(function: Any) -> Optional[bool]:
    """Return whether the set-up that a function consists of is asynchronous; None if it is none."""
    if inspect.isasyncgenfunction(function):
        return True
    if inspect.isgeneratorfunction(function):
        return False
    return _DECORATED.get(_code(function))


class Setup:
    """The set-up of a workload, and its tear-down.

    Args:
        function: one for which `is_asynchronous` is not None.
        arguments: its arguments.
        name: how messages call it.
        check: called with what it yields; raises a ValueError if tasks cannot call that.
    """

    def __init__(
        self, function: Any, arguments: Sequence[str], name: str, check: Callable[[Any], None]
    ) -> None:
        self.asynchronous = bool(is_asynchronous(function))
        self.call: Any = None
        """What it has yielded: the function that each task calls."""
        decorate: Any = asynccontextmanager if self.asynchronous else contextmanager
        make = function if _code(function) in _DECORATED else decorate(function)
        self._make: Callable[[], Any] = lambda: make(*arguments)
        self.name = name
        """How messages call it."""
        self._check = check
        self._manager: Any = None

    def enter(self) -> None:
        """Run the set-up of a plain generator function.

        Raises:
            ValueError: one line: it failed, or tasks cannot call what it yields.
        """
        try:
            self._manager = self._make()
            self.call = self._manager.__enter__()
        except BaseException as error:  # it may raise anything
            raise self._failure("set-up", error) from error
        try:
            self._check(self.call)
        except ValueError:
            self.leave()
            raise

    def leave(self) -> None:
        """Run the tear-down of a plain generator function.

        Raises:
            ValueError: one line: it failed.
        """
        try:
            self._manager.__exit__(None, None, None)
        except BaseException as error:
            raise self._failure("tear-down", error) from error

    async def hold(self, entered: Future[None], leaving: Event) -> None:
        """Run the set-up of an async generator function, wait, and run the tear-down.

        All in one task: some libraries refuse to leave in another task what was entered in this one.

        Args:
            entered: gets a result after the set-up, or a ValueError as from `enter`.
            leaving: what to wait for.

        Raises:
            ValueError: one line: the tear-down failed.
        """
        try:
            manager = self._make()
            self.call = await manager.__aenter__()
        except BaseException as error:
            entered.set_exception(self._failure("set-up", error))
            return
        try:
            self._check(self.call)
            entered.set_result(None)
            await leaving.wait()
        except ValueError as error:
            entered.set_exception(error)
        finally:
            try:
                await manager.__aexit__(None, None, None)
            except BaseException as error:
                raise self._failure("tear-down", error) from error

    def _failure(self, what: str, error: BaseException) -> ValueError:
        place = place_of(error.__traceback__)
        at = f" at {short_place(place)}" if place else ""
        failure = ValueError(flat(f"{what} of {self.name} failed: {type(error).__name__}{at}: {error}"))
        setattr(failure, PLACE, place)
        return failure
