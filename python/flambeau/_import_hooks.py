"""Functions that run once another module has been imported, without importing it."""

from __future__ import annotations

import sys
from typing import Any


class _Finder:
    """Meta-path finder that lets the others find a module, and calls back after it is loaded."""

    def __init__(self, name, function):
        self.name = name
        self.function = function

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        import importlib.util

        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.function)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, loader, function):
        self._loader = loader
        self._function = function

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module keeps the loader that it came with.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._function(module)


def after_import(name: str, function) -> None:
    """Calls `function(module)` when the module of that name is loaded; now, if it is already."""
    module = sys.modules.get(name)
    if module is not None:
        function(module)
        return
    finder: Any = _Finder(name, function)
    sys.meta_path.insert(0, finder)
