"""The functions of the operator table as methods of nothing: ``_VF.lstm`` is ``flambeau.lstm``.

PyTorch's modules reach operators here that a Python function of the same name hides.
"""

from __future__ import annotations

from ._C import ops as _ops


def __getattr__(name):
    return getattr(_ops, name)


def __dir__():
    return dir(_ops)
