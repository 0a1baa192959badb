"""Calls of several modules."""

from __future__ import annotations

__all__ = ["parallel_apply"]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The results of several modules, each for its input, a tuple of arguments or one.

    Raises:
        AssertionError: the numbers of modules, inputs and keyword arguments differ.

    >>> parallel_apply([nn.ReLU(), nn.Tanh()], [flambeau.zeros(1), flambeau.zeros(1)])
    [tensor([0.]), tensor([0.])]
    """
    kwargs_tup = ({},) * len(modules) if kwargs_tup is None else kwargs_tup
    for other in (inputs, kwargs_tup):
        if len(other) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of inputs "
                f"{len(other)}"
            )
    calls = zip(modules, inputs, kwargs_tup)
    return [
        module(*(args if isinstance(args, (list, tuple)) else (args,)), **(kwargs or {}))
        for module, args, kwargs in calls
    ]
