"""Causal masks that are known by their kind instead of their elements."""

from __future__ import annotations

import warnings
from enum import IntEnum, auto

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau.nn import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner of a mask that is not square its diagonal meets."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()

    __str__ = IntEnum.__repr__


class CausalBias(Tensor):
    """A causal mask of a given size, for the argument attn_mask of attention.

    Its elements are not stored; operators compute them.

    Args:
        variant: where the diagonal lies.
        seq_len_q, seq_len_kv: how many queries and keys there are.

    Raises:
        AssertionError: variant is no `CausalVariant`.

    >>> CausalBias(CausalVariant.LOWER_RIGHT, 2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        empty = ops.full((), False, dtype=_C.bool).expand(seq_len_q, seq_len_kv)
        return _C._make_subclass(cls, empty, False)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias: the first queries may look at no key when "
                "seq_len_q > seq_len_kv! Their results are zeros.",
                stacklevel=2,
            )

    def _materialize(self, device=None):
        """The mask as a tensor: True where a key may be looked at."""
        shift = 0
        if self.variant == CausalVariant.LOWER_RIGHT:
            shift = self.seq_len_kv - self.seq_len_q
        full = ops.ones((self.seq_len_q, self.seq_len_kv), dtype=_C.bool, device=device)
        return full.tril(diagonal=shift)

    def __repr__(self):
        return repr(self._materialize())

    def __reduce_ex__(self, proto):
        return CausalBias, (self.variant, self.seq_len_q, self.seq_len_kv)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") == "scaled_dot_product_attention":
            return _attend(*args, **(kwargs or {}))

        def plain(value):
            if isinstance(value, CausalBias):
                return value._materialize()
            if isinstance(value, (list, tuple)):
                return type(value)(map(plain, value))
            return value

        kwargs = {k: plain(v) for k, v in (kwargs or {}).items()}
        return func(*map(plain, args), **kwargs)


def _attend(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """Attention with such a mask, which is not made where a flag says the same."""
    if isinstance(attn_mask, CausalBias):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        sizes = attn_mask.seq_len_q, attn_mask.seq_len_kv
        known = attn_mask.variant == CausalVariant.UPPER_LEFT or sizes[0] == sizes[1]
        is_causal = known and sizes == (query.size(-2), key.size(-2))
        attn_mask = None if is_causal else attn_mask._materialize(query.device)
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask,
        dropout_p,
        is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def causal_upper_left(*size) -> CausalBias:
    """A mask whose diagonal begins at the upper left: query i looks at keys 0 … i.

    Args:
        size: how many queries and keys there are.

    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size) -> CausalBias:
    """A mask whose diagonal ends at the lower right: the last query looks at all keys.

    Args:
        size: how many queries and keys there are.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
