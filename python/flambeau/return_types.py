"""The named tuples that operators return, under the operators' names."""

from __future__ import annotations

from flambeau._C import ops

_OF_DIM = ("cummax", "cummin", "max", "median", "min", "mode", "nanmedian")
_OF_MATRIX = {"linalg_eigh": ops.linalg_eigh, "linalg_qr": ops.linalg_qr, "slogdet": ops.slogdet}


def __getattr__(name):
    one = ops.ones((1, 1))
    if name in _OF_DIM:
        return type(getattr(ops, name)(one, 0))
    if name in ("sort", "aminmax"):
        return type(getattr(ops, name)(one))
    if name in ("kthvalue", "topk"):
        return type(getattr(ops, name)(one, 1))
    if name in _OF_MATRIX:
        return type(_OF_MATRIX[name](one))  # type: ignore[operator]
    raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")


def __dir__():
    return sorted([*_OF_DIM, *_OF_MATRIX, "aminmax", "kthvalue", "sort", "topk"])
