"""Modules that are being imported."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from concwatch.portable.agent.basics.imports import imported_module


def test_a_module_that_another_thread_imports_is_not_used_before_the_end(monkeypatch):
    module = ModuleType("its_module")
    module.__spec__ = ModuleSpec("its_module", None)
    monkeypatch.setitem(sys.modules, "its_module", module)
    module.__spec__._initializing = True
    assert imported_module("its_module") is None
    module.__spec__._initializing = False
    assert imported_module("its_module") is module
    assert imported_module("no_module") is None
