"""Settings of a library as attributes of its module, with PyTorch's ways to set them."""

from __future__ import annotations

import contextlib


def setters(module, **attributes):
    """``set_flags(…)`` and the context ``flags(…)`` of a module.

    Args:
        module: the module's namespace, which has a value for each attribute.
        attributes: parameter of the functions=attribute that it sets.
    """

    def set_flags(*values, **named):
        """Sets the settings given, in their order or by name; returns those before."""
        if len(values) > len(attributes):
            raise TypeError(f"set_flags() takes {len(attributes)} settings, got {len(values)}")
        named = dict(zip(attributes, values)) | named
        for name in named:
            if name not in attributes:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
        before = tuple(module[attribute] for attribute in attributes.values())
        for name, value in named.items():
            if value is not None:
                module[attributes[name]] = value
        return before

    @contextlib.contextmanager
    def flags(*values, **named):
        """Sets the settings for a while."""
        before = set_flags(*values, **named)
        try:
            yield
        finally:
            for attribute, value in zip(attributes.values(), before):
                module[attribute] = value

    return set_flags, flags


class Precision:
    """Settings of one kind of operation in a library: kept, and change nothing."""

    def __init__(self, **settings):
        self.__dict__.update(settings)
