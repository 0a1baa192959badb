"""Operators by name: ``ops.aten.add.Tensor(a, b)``, and those that programs register.

A namespace is an attribute; an operator has overloads, which call the same function.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from flambeau import _C
from flambeau._C import Tensor

_user: dict[str, dict[str, Any]] = {}  # namespace -> name -> packet


class OpOverload:
    """One overload of an operator."""

    def __init__(self, packet, overload, function):
        self._overloadpacket, self._overloadname, self._op = packet, overload, function
        self.overloadpacket = packet
        suffix = "" if overload == "default" else f".{overload}"
        self._name = f"{packet._qualified_op_name}{suffix}"
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__, self.__module__ = self._name, packet.__module__
        self.tags: list[Any] = []

    @property
    def namespace(self):
        """The namespace."""
        return self._overloadpacket.namespace

    @property
    def _schema(self):
        return self._overloadpacket._schema_of(self._overloadname)

    def name(self):
        """The full name.

        Example:
            >>> import flambeau
            >>> flambeau.ops.aten.add.Tensor.name()
            'aten::add.Tensor'
        """
        return self._name

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def __repr__(self):
        qualified = self._overloadpacket._qualified_op_name.replace("::", ".")
        return f"<OpOverload(op='{qualified}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._overloadpacket}.{self._overloadname}"


class OpOverloadPacket:
    """An operator: calling it calls the overload that fits."""

    def __init__(self, namespace, name, function, overloads, schemas=None):
        self.namespace, self.__name__ = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"torch.ops.{namespace}"
        self._op, self._names, self._schemas = function, list(overloads), schemas or {}

    def overloads(self):
        """The names of the overloads."""
        return list(self._names)

    def _schema_of(self, overload):
        if overload in self._schemas:
            return self._schemas[overload]
        text = _schemas().get(self.__name__)
        if self.namespace != "aten" or text is None:
            raise NotImplementedError(f"the schema of {self._qualified_op_name} is not known")
        suffix = "" if overload == "default" else f".{overload}"
        rest = text[text.index("(") :]
        second = "Scalar" if overload.startswith("Scalar") else "Tensor"
        return f"aten::{self.__name__}{suffix}{rest.replace('Operand', second)}"

    def __getattr__(self, name):
        if name in self.__dict__.get("_names", ()):
            overload = OpOverload(self, name, self._op)
            self.__dict__[name] = overload
            return overload
        raise AttributeError(
            f"The underlying op of '{self}' has no overload name '{name}'"
            if not name.startswith("__")
            else name
        )

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def __iter__(self):
        return iter(self._names)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return self._qualified_op_name.replace("::", ".")


def _schemas():
    if "found" not in _schema_cache:
        _schema_cache["found"] = {name: text for name, text, _ in _C._registry()}
    return _schema_cache["found"]


_schema_cache: dict[str, Any] = {}


def _builtin(name):
    """What computes an operator of PyTorch: a function, or a method as a function."""
    root = sys.modules["flambeau"]
    for owner in (_C.ops, root):
        function = getattr(owner, name, None)
        if callable(function):
            return function
    name, added = _OF_OTHERS.get(name, (name, {}))
    method = getattr(Tensor, name, None)
    if callable(method):
        return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs, **added)
    return None


# Operators that PyTorch makes of public ones: the method, and arguments that make the difference.
_OF_OTHERS: dict[str, tuple[str, dict]] = {
    "_conj": ("conj", {}),
    "_local_scalar_dense": ("item", {}),
    "_pin_memory": ("pin_memory", {}),
    "_to_copy": ("to", {"copy": True}),
    "_unsafe_view": ("view", {}),
}


def _overload_names():
    if "aten" not in _schema_cache:
        from flambeau._aten_names import overloads

        _schema_cache["aten"] = overloads()
    return _schema_cache["aten"]


class _Namespace:
    def __init__(self, name):
        self.name = name
        self.__name__ = f"torch.ops.{name}"

    def __getattr__(self, op):
        if op.startswith("__") and (self.name != "aten" or op not in _overload_names()):
            raise AttributeError(op)
        found = _user.get(self.name, {}).get(op)
        if found is None and self.name == "aten":
            found = self._aten(op)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op}'")
        if self.name == "aten":
            self.__dict__[op] = found
        return found

    def _aten(self, op):
        table = _overload_names()
        known = op in table or op in _OF_OTHERS or op.startswith("_foreach_")
        function = _builtin(op) if known else None
        if function is None:
            return None
        return OpOverloadPacket("aten", op, function, table.get(op, ["default"]))

    def __dir__(self):
        names = list(_user.get(self.name, {}))
        if self.name == "aten":
            names += _overload_names()
        return sorted(names)

    def __repr__(self):
        return f"<module 'torch.ops.{self.name}'>"


_namespaces: dict[str, _Namespace] = {}


def register(namespace, name, function, schema=None, overload="default"):
    """Adds an operator of a program."""
    packets = _user.setdefault(namespace, {})
    packet = packets.get(name)
    if packet is None:
        packet = packets[name] = OpOverloadPacket(namespace, name, function, [])
    packet._names.append(overload)
    if schema is not None:
        packet._schemas[overload] = f"{namespace}::{schema}"
    return getattr(packet, overload)


def unregister(namespace, name):
    """Removes an operator of a program."""
    _user.get(namespace, {}).pop(name, None)


loaded_libraries: set[str] = set()


def load_library(path):
    """Loads a shared library, whose initialisation may register operators.

    Errors: `OSError` where it cannot be loaded, as those that are linked with PyTorch's libraries.
    """
    import ctypes
    import os

    path = os.path.realpath(path)
    ctypes.CDLL(path)
    loaded_libraries.add(path)


def import_module(module):
    """Imports a module, which may register operators."""
    importlib.import_module(module)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "higher_order":
        return importlib.import_module("flambeau._higher_order_ops")
    if name not in _namespaces:
        _namespaces[name] = _Namespace(name)
    return _namespaces[name]
