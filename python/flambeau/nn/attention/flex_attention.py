"""Attention whose scores a function may change, and blocks of it that a mask leaves out.

The scores are computed whole; a `BlockMask` says where they count, it saves no work here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import flambeau

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_INDICES = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
_TRANSPOSED = ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


class FlexKernelOptions(dict):
    """Options of compiled kernels; they change nothing here."""


class AuxRequest(NamedTuple):
    """What `flex_attention` shall return besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for with `AuxRequest`: logarithms of the sums, and maxima, of the scores."""

    lse: flambeau.Tensor | None = None
    max_scores: flambeau.Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """The mask that leaves nothing out."""
    return batch.new_ones(size=(), dtype=flambeau.bool, device=batch.device)


def _combined(mask_mods, name, start, combine):
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask_mod(batch, head, token_q, token_kv):
        result = start(batch)
        for mask in mask_mods:
            result = combine(result, mask(batch, head, token_q, token_kv))
        return result

    mask_mod.__name__ = name
    return mask_mod


def and_masks(*mask_mods):
    """The mask of what all masks let through."""
    return _combined(
        mask_mods,
        "and_mask",
        lambda index: index.new_ones((), dtype=flambeau.bool),
        lambda one, other: one & other,
    )


def or_masks(*mask_mods):
    """The mask of what one of the masks lets through."""
    return _combined(
        mask_mods,
        "or_mask",
        lambda index: index.new_zeros((), dtype=flambeau.bool),
        lambda one, other: one | other,
    )


def _takes_scores(function):
    """Whether a function changes scores (five arguments and more) rather than masking (four)."""
    import inspect

    if hasattr(function, "__code__"):
        count = function.__code__.co_argcount - (1 if inspect.ismethod(function) else 0)
    else:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(function).parameters.values()
        count = sum(p.kind in kinds and p.default is p.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError(
            "A score_mod takes score, batch, head, query and key index, a mask_mod the four "
            f"indices; the function takes {count} arguments"
        )
    return count == 5


def _on_all_positions(function, scores, sizes, device):
    """Calls a function of single positions on all of them, without a loop."""
    batch, heads, rows, columns = (flambeau.arange(n, device=device) for n in sizes)
    first = () if scores is None else (0,)
    mapped = function
    for dims in (
        (None, None, None, 0),
        (None, None, 0, None),
        (None, 0, None, None),
        (0, None, None, None),
    ):
        mapped = flambeau.vmap(mapped, in_dims=(*first, *dims))
    positions = (batch, heads, rows, columns)
    return mapped(*positions) if scores is None else mapped(scores, *positions)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask of a function as a tensor of ``(B, H, Q_LEN, KV_LEN)``.

    Args:
        mod_fn: function of batch, head, query and key index; or of a score before them, whose
            results on zeros are returned.
        B, H: None is 1, for a mask that is the same for all.

    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2).int()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    if _takes_scores(mod_fn):
        scores = flambeau.zeros(sizes, device=device)
        result = _on_all_positions(mod_fn, scores, sizes, device)
        return flambeau.where(flambeau.isneginf(result), False, True)
    return _on_all_positions(mod_fn, None, sizes, device).expand(sizes)


def _ordered(dense):
    """Counts of the blocks that are set, and the columns with these first."""
    counts = dense.sum(dim=-1, dtype=flambeau.int32)
    order = flambeau.argsort(dense.int(), dim=-1, descending=True, stable=True)
    return counts, order.to(flambeau.int32).contiguous()


def _dense(counts, indices):
    """0 and 1 of which blocks are set."""
    columns = indices.shape[-1]
    used = flambeau.arange(columns, device=counts.device) < counts.unsqueeze(-1)
    full = flambeau.zeros(*indices.shape[:-1], columns + 1, dtype=flambeau.int32)
    # Columns that do not count go to one behind the last.
    return full.scatter(-1, flambeau.where(used, indices, columns).long(), 1)[..., :columns]


class BlockMask:
    """Which blocks of a mask have something in them (see `create_block_mask`, `from_kv_blocks`).

    Of each row of blocks ``kv_num_blocks`` counts those to be masked and ``kv_indices`` names them
    first; ``full_kv_num_blocks`` and ``full_kv_indices`` those that need no mask. The same for
    columns stands under ``q_`` and ``full_q_``.
    """

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod=noop_mask,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both given or not")
        self.seq_lengths = tuple(seq_lengths)
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """A mask from the blocks of its rows."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if isinstance(BLOCK_SIZE, int):
            BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE)
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * BLOCK_SIZE[0], columns * BLOCK_SIZE[1])
        columns_first: tuple[Any, ...] = (None,) * 4
        if compute_q_blocks:
            columns_first = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                full = _dense(full_kv_num_blocks, full_kv_indices)
                columns_first += _ordered(full.transpose(-2, -1))
            else:
                columns_first += (None, None)
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *columns_first,  # type: ignore[misc]
            BLOCK_SIZE=BLOCK_SIZE,
            mask_mod=mask_mod or noop_mask,
        )

    def as_tuple(self, flatten=True):
        """The parts in the order of the constructor; lengths and block size flat or as pairs."""
        lengths: tuple = (self.seq_lengths,)
        size: tuple = (self.BLOCK_SIZE,)
        if flatten:
            lengths, size = self.seq_lengths, self.BLOCK_SIZE
        parts = (getattr(self, name) for name in _INDICES + _TRANSPOSED)
        return (*lengths, *parts, *size, self.mask_mod)

    @property
    def shape(self):
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of scores, masked ones included."""
        return math.prod(self.shape)

    def sparsity(self):
        """Percentage of the scores whose blocks are left out."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        computed = int(blocks) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - computed / self.numel())

    def to_dense(self):
        """1 for each block with something in it, 0 for others."""
        partial = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device):
        """The mask on a device."""
        tensors = {name: getattr(self, name) for name in _INDICES + _TRANSPOSED}
        moved = {name: t if t is None else t.to(device) for name, t in tensors.items()}
        return BlockMask(
            self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod
        )

    def __getitem__(self, index):
        """The mask of some batches, heads, or rows of blocks."""
        index = index if isinstance(index, tuple) else (index,)
        # An index keeps its dimension, as in a mask of one batch.
        index = tuple(
            slice(i, i + 1 or None) if isinstance(i, int) and position < 2 else i
            for position, i in enumerate(index)
        )
        parts = [
            None if (part := getattr(self, name)) is None else part[index] for name in _INDICES
        ]
        return BlockMask.from_kv_blocks(
            *parts,  # type: ignore[misc]
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=None,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def __repr__(self):
        shape = ", ".join(map(str, self.shape))
        return f"BlockMask(shape=({shape}), sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
):
    """The `BlockMask` of a mask function.

    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    if _takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    # Positions behind the end belong to the last block and are not let through.
    padded = flambeau.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = padded.unflatten(-1, (-1, columns)).unflatten(2, (-1, rows))
    counts = blocks.sum(dim=(3, 5))
    full = counts == rows * columns
    some = (counts > 0) & ~full if separate_full_blocks else counts > 0
    return BlockMask.from_kv_blocks(
        *_ordered(some),  # type: ignore[misc]
        *(_ordered(full) if separate_full_blocks else (None, None)),
        BLOCK_SIZE=(rows, columns),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )


def _check(query, key, value, enable_gqa):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise ValueError(f"flex_attention(): {name} must be 4-D, got {tensor.dim()}-D")
    if key.size(-2) != value.size(-2):
        raise ValueError("flex_attention(): key and value must have one length")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    heads, shared = query.size(1), key.size(1)
    if not enable_gqa and heads != shared:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if heads % shared != 0:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={shared}."
        )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Scaled dot-product attention with a function of the scores.

    Args:
        score_mod: function of a score and its batch, head, query and key index; gives a score.
        block_mask: `BlockMask`, whose ``mask_mod`` says which scores count.
        scale: of the scores; by default one by the root of the size of a head.
        enable_gqa: whether several query heads may share one key head.
        return_lse: gives the logarithms of the sums of the scores' exponentials, too.
        return_aux: `AuxRequest`; gives an `AuxOutput`, too.

    >>> query = flambeau.ones(1, 1, 2, 4)
    >>> flex_attention(query, query, query, lambda s, b, h, q, k: s + (q - k)).shape
    torch.Size([1, 1, 2, 4])
    """
    _check(query, key, value, enable_gqa)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    repeat = query.size(1) // key.size(1)
    if repeat > 1:
        key = key.repeat_interleave(repeat, dim=1)
        value = value.repeat_interleave(repeat, dim=1)
    working = flambeau.float64 if query.dtype is flambeau.float64 else flambeau.float32
    scores = (query @ key.transpose(-2, -1)).to(working) * scale
    sizes = scores.shape
    if score_mod is not None:
        scores = _on_all_positions(score_mod, scores, sizes, query.device)
    if block_mask is not None:
        mask_mod = block_mask.mask_mod
        allowed = _on_all_positions(mask_mod, None, sizes, query.device)
        blocks = block_mask.to_dense().bool()
        blocks = blocks.repeat_interleave(block_mask.BLOCK_SIZE[0], dim=-2)
        blocks = blocks.repeat_interleave(block_mask.BLOCK_SIZE[1], dim=-1)
        allowed = allowed & blocks[..., : sizes[-2], : sizes[-1]].to(query.device)
        scores = scores.masked_fill(~allowed, -math.inf)
    # Rows without a score that counts give zeros.
    empty = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1).masked_fill(empty, 0)
    output = weights.to(value.dtype) @ value
    if return_aux is None and not return_lse:
        return output
    lse = scores.logsumexp(dim=-1)
    if return_lse:
        return output, lse
    maxima = scores.amax(dim=-1) if return_aux.max_scores else None
    return output, AuxOutput(lse if return_aux.lse else None, maxima)
