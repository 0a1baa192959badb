"""Modules of settings (`torch._dynamo.config`, …): known names with values, and `patch`.

The compiler that they would steer is not built yet: settings are kept, and change nothing.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any


class Group:
    """Settings with a common first part of their names, as ``config.triton``."""

    def __init__(self, module, prefix):
        self.__dict__.update(_module=module, _prefix=prefix)

    def __getattr__(self, name):
        return getattr(self._module, f"{self._prefix}.{name}")

    def __setattr__(self, name, value):
        setattr(self._module, f"{self._prefix}.{name}", value)


class Settings(types.ModuleType):
    """A module whose attributes are settings; unknown names are errors."""

    _values: dict[str, Any]
    _defaults: dict[str, Any]

    def __getattr__(self, name):
        values = self.__dict__["_values"]
        if name in values:
            return values[name]
        if any(key.startswith(name + ".") for key in values):
            return Group(self, name)
        raise AttributeError(f"{self.__name__}.{name} does not exist")

    def __setattr__(self, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif name in self.__dict__["_values"]:
            self.__dict__["_values"][name] = value
        else:
            raise AttributeError(f"{self.__name__}.{name} does not exist")

    def __delattr__(self, name):
        if name not in self.__dict__["_values"]:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self.__dict__["_values"][name] = self._defaults[name]

    def __dir__(self):
        return sorted({*self.__dict__, *self._values})

    def get_config_copy(self):
        """The settings and their values."""
        return dict(self._values)

    to_dict = shallow_copy_dict = get_config_copy

    def load_config(self, config):
        """Takes settings from a dict or from bytes of `save_config`."""
        if isinstance(config, bytes):
            import json

            config = json.loads(config)
        for name, value in config.items():
            setattr(self, name, value)

    def save_config(self):
        """The settings as bytes."""
        import json

        return json.dumps(self._values, default=repr).encode()

    save_config_portable = get_config_copy

    def get_hash(self):
        """Bytes that change with the settings."""
        import hashlib

        return hashlib.md5(self.save_config(), usedforsecurity=False).digest()

    def get_type(self, name):
        """The type of a setting."""
        return type(self._defaults[name])

    def patch(self, arg1=None, arg2=None, **kwargs):
        """Context manager and decorator with other settings: name and value, dict, or keywords."""
        changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or kwargs)
        for name in changes:
            getattr(self, name)
        return _Patch(self, changes)

    def is_default(self, name):
        """Whether a setting has the value that it starts with."""
        return self._values[name] == self._defaults[name]


class _Patch(contextlib.ContextDecorator):
    def __init__(self, module, changes):
        self._module, self._changes = module, changes
        self._before: list[dict[str, Any]] = []

    def _recreate_cm(self):
        return self

    def __enter__(self):
        self._before.append({name: getattr(self._module, name) for name in self._changes})
        self._module.load_config(self._changes)

    def __exit__(self, *exc):
        self._module.load_config(self._before.pop())
        return False


def install(name, defaults):
    """Makes the module ``name`` a module of settings."""
    module = sys.modules[name]
    module.__dict__["_values"], module.__dict__["_defaults"] = dict(defaults), defaults
    module.__class__ = Settings
