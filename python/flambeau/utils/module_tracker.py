"""Which modules of a model run."""

from __future__ import annotations

import importlib
from typing import Any


class ModuleTracker:
    """Context manager whose ``parents`` are the names of the modules that run.

    Example:
        >>> import flambeau
        >>> model = flambeau.nn.Sequential(flambeau.nn.ReLU())
        >>> seen = []
        >>> with ModuleTracker() as tracker:
        ...     note = lambda *a: seen.append(set(tracker.parents))
        ...     handle = model[0].register_forward_hook(note)
        ...     out = model(flambeau.ones(1))
        >>> sorted(seen[0])
        ['Global', 'Sequential', 'Sequential.0']
    """

    parents: set[str]

    def __init__(self):
        self.parents = {"Global"}
        self._names: dict[int, str] = {}
        self._open: list[list[Any]] = []
        self._handles: list[Any] = []

    @property
    def is_bw(self):
        """Whether the backward pass runs: it is not followed."""
        return False

    def _name(self, module):
        if id(module) not in self._names:
            root = type(module).__name__
            for name, part in module.named_modules():
                self._names.setdefault(id(part), f"{root}.{name}" if name else root)
        return self._names[id(module)]

    def _enter(self, module, inputs):
        name = self._name(module)
        self._open.append([name, name in self.parents])
        self.parents.add(name)

    def _leave(self, module, inputs, output):
        name, was_in = self._open.pop()
        if not was_in:
            self.parents.discard(name)

    def __enter__(self):
        module = importlib.import_module("flambeau.nn.modules.module")
        self._handles = [
            module.register_module_forward_pre_hook(self._enter),
            module.register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()


__all__ = ["ModuleTracker"]
