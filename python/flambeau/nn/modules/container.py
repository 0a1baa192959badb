"""Modules and parameters kept in sequences and dictionaries."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Container as ContainerABC
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from flambeau._C import Tensor
from flambeau.nn.parameter import Parameter

from .module import Module, _addindent

__all__ = [
    "Container",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]


class Container(Module):
    """A module with the given children. Deprecated."""

    def __init__(self, **kwargs) -> None:
        super().__init__()
        warnings.warn(
            "`Container` is deprecated. All of its functionality is now implemented in "
            "`Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Sequence(Module):
    """Children named "0", "1", ...: what `Sequential` and `ModuleList` share."""

    def _position(self, idx):
        size = len(self)
        idx = operator.index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return idx % size

    def _key(self, idx):
        return next(islice(self._modules, self._position(idx), None))

    def _renumber(self):
        modules = list(self._modules.values())
        self._modules.clear()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def __len__(self):
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx):
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._renumber()

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Sequence):
    """Modules called one after the other.

    Args:
        args: the modules, or one ordered dictionary of modules by name.

    Example:
        >>> nn.Sequential(nn.Flatten(), nn.ReLU())
        Sequential(
          (0): Flatten(start_dim=1, end_dim=-1)
          (1): ReLU()
        )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*chain(self, other))

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return self.extend(list(other))

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index, module):
        """Puts a module before the one at index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + size if index < 0 else index, module)
        self._modules.clear()
        for i, each in enumerate(modules):
            self._modules[str(i)] = each
        return self

    def extend(self, sequential):
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Sequence):
    """A list of modules, which are registered as children.

    Example:
        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> len(list(layers.parameters()))
        6
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __setitem__(self, idx, module):
        setattr(self, str(self._position(idx)), module)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def insert(self, index, module):
        """Puts a module before the one at index."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        for i, each in enumerate(modules):
            self._modules[str(i)] = each

    def extend(self, modules):
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self):
        # Neighbours that look the same are shown once, with their number.
        runs: list[list] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return self._get_name() + "()"
        lines = []
        for first, last, text in runs:
            label = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(label + _addindent(text, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _pairs(name, source):
    """(key, value) pairs of a mapping or of an iterable of pairs."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            f"{type(source).__name__}"
        )
    if isinstance(source, Mapping) or hasattr(source, "items"):
        return list(source.items())
    name = name.replace("ParametersDict", "ParameterDict")
    pairs = []
    for j, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{name} update sequence element #{j} should be Iterable; is{type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{j} has length {len(pair)}; 2 is required"
            )
        pairs.append(pair)
    return pairs


class ModuleDict(Module):
    """A dictionary of modules, which are registered as children; keeps the order of insertion.

    Example:
        >>> acts = nn.ModuleDict({"relu": nn.ReLU()})
        >>> acts["relu"]
        ReLU()
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds modules of a mapping or of (name, module) pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _text_of(value, dtype_text):
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(s) for s in value.size())
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{dtype_text(value)} of size {size}]"


def _as_value(value):
    """Tensors become parameters; everything else stays."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other values are kept as they are.

    Example:
        >>> nn.ParameterList([flambeau.ones(2)])[0].requires_grad
        True
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _name(self, idx):
        size = len(self)
        idx = operator.index(idx)
        if not -size <= idx < size:
            raise IndexError(f"index {idx} is out of range")
        return str(idx % size)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            out = self.__class__()
            for i in range(*idx.indices(len(self))):
                out.append(self[i])
            return out
        return getattr(self, self._name(idx))

    def __setitem__(self, idx, value):
        setattr(self, self._name(idx), _as_value(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end."""
        index = len(self)
        self._size += 1
        self[index] = value
        return self

    def extend(self, values):
        """Adds values at the end."""
        if not isinstance(values, ContainerABC) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        rows = (_text_of(value, lambda t: str(t.dtype)) for value in self)
        return "\n".join(f"  ({i}): {row}" for i, row in enumerate(rows))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters; tensors become parameters, other values are kept as they are.

    Example:
        >>> nn.ParameterDict({"w": flambeau.ones(2)})["w"].requires_grad
        True
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._name(key))

    def __setitem__(self, key, value):
        name = self._name(key)
        value = _as_value(value)
        if (
            not isinstance(value, (Tensor, Module))
            and name in self._parameters
            and value is not None
        ):
            setattr(self, name, value)  # raises: a parameter's place takes parameters only
        self._keys[key] = None
        setattr(self, name, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other):
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """A dictionary of the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key, default=None):
        """The value of key, which is set to default if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last (key, value) pair out and returns it."""
        key, _ = self._keys.popitem()
        value = self[key]
        self._keys[key] = None
        del self[key]
        return key, value

    def get(self, key, default=None):
        """The value of key, or default."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A dictionary with the same value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """(key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds values of a mapping or of (key, value) pairs."""
        pairs = _pairs("ParametersDict", parameters)
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(pairs) if plain else pairs:
            self[key] = value

    def extra_repr(self):
        return "\n".join(
            f"  ({key}): {_text_of(value, lambda t: t.type())}" for key, value in self.items()
        )

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")
