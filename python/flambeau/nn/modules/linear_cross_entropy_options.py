"""The options of `LinearCrossEntropyLoss`."""

from __future__ import annotations

import re
from typing import NamedTuple

from flambeau import _C

__all__ = ["LinearCrossEntropyOptions"]

_DTYPES = (None, _C.float16, _C.bfloat16, _C.float32, _C.float64)


class _Options(NamedTuple):
    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None


class LinearCrossEntropyOptions(_Options):
    """How PyTorch splits `nn.functional.linear_cross_entropy` into parts.

    There is one way to compute it here: the options are checked and have no effect.

    Args:
        allow_retain_graph: whether a second backward pass is possible.
        batch_chunk_size: samples a part.
        chunking_method: None, ``"auto"`` or ``"aspect_ratio:N"``.
        acc_policy: ``"accurate"``, ``"balanced"``, ``"compact"`` or ``"auto"``.
        acc_dtype: the dtype in which parts are summed.

    Raises:
        ValueError: a value is none of these.

    Example:
        >>> nn.LinearCrossEntropyOptions(batch_chunk_size=64).acc_policy
        'auto'
    """

    __slots__ = ()

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls, *args, **kwargs)
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        if not (method in (None, "auto") or re.fullmatch(r"aspect_ratio:\d+", str(method))):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype not in _DTYPES:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype}. Pass acc_dtype=None to choose it by the "
                "input's dtype."
            )
        return self
