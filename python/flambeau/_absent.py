"""Parts of PyTorch that are not built yet: their names import, and say so where they are used.

Packages import such names for guards and for `isinstance`. Nothing is an instance of an absent
class; making one, or calling an absent function, raises `NotImplementedError`.
"""

from __future__ import annotations


def missing(name, part):
    """The error for the use of an absent name; ``part`` says what is not built."""
    return NotImplementedError(f"{name} is not built in flambeau yet: {part}")


def absent_class(name, part, module):
    """A class that can be named and derived from, but not made."""

    def __new__(cls, *args, **kwargs):
        raise missing(f"{module}.{name}", part)

    doc = f"Not built yet: {part}."
    return type(name, (), {"__new__": __new__, "__module__": module, "__doc__": doc})


def absent_function(name, part, module):
    """A function that raises when it is called."""

    def absent(*args, **kwargs):
        raise missing(f"{module}.{name}", part)

    absent.__name__ = name.rpartition(".")[2]
    absent.__qualname__, absent.__module__ = name, module
    absent.__doc__ = f"Not built yet: {part}."
    return absent


def declare(namespace, part, *, classes="", functions=""):
    """Adds absent names to a module; ``Class.name`` in ``functions`` is a method of the class."""
    module = "torch" + namespace["__name__"].removeprefix("flambeau")
    for name in classes.split():
        namespace[name] = absent_class(name, part, module)
    for name in functions.split():
        function = absent_function(name, part, module)
        owner, _, method = name.rpartition(".")
        if owner:
            setattr(namespace[owner], method, staticmethod(function))
        else:
            namespace[name] = function
    public = [name for name in f"{classes} {functions}".split() if "." not in name]
    namespace["__all__"] = sorted({*namespace.get("__all__", ()), *public})
