"""Helpers for rules of operators."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "export to ONNX",
    functions="_get_tensor_dim_size _get_tensor_sizes _is_none _maybe_get_const",
)


def parse_args(*arg_descriptors):
    """A decorator that says what the arguments of a rule are; rules are not called yet."""
    return lambda fn: fn
