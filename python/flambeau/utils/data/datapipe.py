"""Data pipes: datasets that are made from others by methods. PyTorch no longer develops them.

There are the base classes, and the registration of methods; the ready-made pipes are not there.
"""

from __future__ import annotations

import functools

from .dataset import Dataset, IterableDataset


class _Functions:
    """Methods that `functional_datapipe` gave to all pipes of a kind."""

    functions: dict

    def __getattr__(self, name):
        # Not through the instance, which may not be complete (copies, unpickling).
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(function, self)

    def __dir__(self):
        return [*super().__dir__(), *type(self).functions]

    @classmethod
    def register_function(cls, function_name, function):
        """Makes `function(pipe, ...)` a method of all pipes."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, **options):
        """Makes a class of pipes, whose first argument is the source, a method of all pipes.

        Errors: `Exception` for a name that is taken.
        """
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )

        @functools.wraps(cls_to_register, assigned=("__doc__",), updated=())
        def make(source, *args, **kwargs):
            return cls_to_register(source, *args, **kwargs)

        make.__name__ = function_name
        cls.functions[function_name] = make

    def __repr__(self):
        return type(self).__qualname__


class IterDataPipe(_Functions, IterableDataset):
    """Base class of pipes that are iterated over: define `__iter__`.

    >>> @functional_datapipe("doubled")
    ... class Doubled(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...
    ...     def __iter__(self):
    ...         return (2 * x for x in self.source)
    >>> class Numbers(IterDataPipe):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Numbers().doubled().doubled())
    [0, 4, 8]
    """

    functions: dict = {}

    def __iter__(self):
        return self

    def reset(self):
        """Called before a new pass; for pipes that keep something."""


class MapDataPipe(_Functions, Dataset):
    """Base class of pipes that are indexed: define `__getitem__` and `__len__`."""

    functions: dict = {}


class DataChunk(list):
    """A list of samples that are one sample together.

    >>> DataChunk([1, 2])
    [1, 2]
    """

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """The samples in one line."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

    def raw_iterator(self):
        """Iterates over the samples, for subclasses whose `__iter__` gives something else."""
        yield from self.items


class functional_datapipe:
    """Decorator: the class of pipes becomes a method, of this name, of all pipes of its kind.

    Errors: `TypeError` for anything but a subclass of `IterDataPipe` or `MapDataPipe`.
    """

    def __init__(self, name, enable_df_api_tracing=False):
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls):
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")
