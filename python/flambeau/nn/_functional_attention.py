"""Attention of several heads with their projections."""

from __future__ import annotations

import math
import warnings

from flambeau import _C
from flambeau._C import ops


def _none_or_dtype(mask):
    """The dtype of a mask, None where there is none."""
    if mask is None or isinstance(mask, _C.Tensor):
        return None if mask is None else mask.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers to add to the scores: True, which forbids, becomes minus infinity.

    Args:
        other_type: dtype of the mask other_name it is used with; a warning tells of mixed kinds.
        target_type: dtype of the result where the mask is boolean.

    Raises:
        AssertionError: the mask holds integers.
    """
    if mask is None:
        return None
    if mask.dtype != _C.bool and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            stacklevel=3,
        )
    if mask.dtype == _C.bool:
        zeros = ops.zeros(mask.shape, dtype=target_type, device=mask.device)
        mask = zeros.masked_fill(mask, -math.inf)
    return mask


def _check_attention_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch dimension; AssertionError where dimensions do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D "
            "query tensor"
        )
    n = query.dim()
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if not key.dim() == value.dim() == n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but "
            f"found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is None:
        return n == 3
    if attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if n == 2 and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if attn_mask.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return n == 3


def _project(query, key, value, weight, bias):
    """The three projections whose weights lie one below the other in weight."""
    if query is key and key is value:
        return ops.linear(query, weight, bias).chunk(3, -1)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    if key is not value:
        parts = zip((query, key, value), weight.chunk(3), biases)
        return [ops.linear(x, w, b) for x, w, b in parts]
    size = weight.shape[0] // 3
    w_query, w_rest = weight.split([size, 2 * size])
    b_query, b_rest = (None, None) if bias is None else bias.split([size, 2 * size])
    k, v = ops.linear(key, w_rest, b_rest).chunk(2, -1)
    return ops.linear(query, w_query, b_query), k, v


def _project_separately(query, key, value, weights, bias):
    for name, weight in zip("qkv", weights):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    embed_dim = query.shape[-1]
    for name, x, weight in zip("qkv", (query, key, value), weights):
        if weight.shape != (embed_dim, x.shape[-1]):
            raise AssertionError(
                f"expecting {name}_proj_weight shape of {(embed_dim, x.shape[-1])}, but got "
                f"{weight.shape}"
            )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [ops.linear(*part) for part in zip((query, key, value), weights, biases)]


def _check_attention_sizes(query, key, value, embed_dim, num_heads, separate):
    if query.shape[-1] != embed_dim:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim}, but got {query.shape[-1]}"
        )
    if num_heads * (embed_dim // num_heads) != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _attention_mask_3d(mask, heads, target, source):
    """A mask (L, S) or (N * heads, L, S) with three dimensions."""
    if mask is None:
        return None
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    expected = (target, source) if mask.dim() == 2 else (heads, target, source)
    if mask.shape != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _masks_of_call(key_padding_mask, attn_mask, is_causal, need_weights, dtype):
    """Both masks as numbers, and whether the operator is told that attention is causal."""
    other = _none_or_dtype(attn_mask)
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", other, "attn_mask", dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    return padding, _canonical_mask(attn_mask, "attn_mask", None, "", dtype, False), False


def _one_more(mask):
    """A mask that allows one more key, at the end."""
    return None if mask is None else ops.pad(mask, [0, 1])


def _static_heads(name, static, heads, head_dim):
    if static.shape[0] != heads:
        raise AssertionError(f"expecting {name}.size(0) of {heads}, but got {static.shape[0]}")
    if static.shape[2] != head_dim:
        raise AssertionError(f"expecting {name}.size(2) of {head_dim}, but got {static.shape[2]}")
    return static


def _weighted(q, k, v, mask, dropout_p):
    """Attention of (heads, L, E), (heads, S, E), (heads, S, E) with its weights (heads, L, S)."""
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    if mask is None:
        weights = ops.bmm(scaled, k.transpose(-2, -1))
    else:
        weights = ops.baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = weights.softmax(-1)
    if dropout_p > 0.0:
        weights = ops.dropout(weights, dropout_p, True)
    return ops.bmm(weights, v), weights


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of several heads: projections, `scaled_dot_product_attention`, a last projection.

    Args:
        query, key, value: (L, N, E), (S, N, E_k) and (S, N, E_v), or all without N.
        embed_dim_to_check: the E that query must have.
        in_proj_weight, in_proj_bias: (3 * E, E) and (3 * E,), the three projections in one.
        bias_k, bias_v: (1, 1, E), appended to the projected keys and values.
        add_zero_attn: appends a key and a value of zeros.
        dropout_p: probability with which attention weights are dropped in training.
        key_padding_mask: (N, S); True, or minus infinity, where a key is not looked at.
        attn_mask: (L, S) or (N * num_heads, L, S), the same for a pair of query and key.
        need_weights: also returns the weights. Without them nothing as large as they are is kept.
        use_separate_proj_weight: projects with q_proj_weight (E, E), k_proj_weight (E, E_k) and
            v_proj_weight (E, E_v).
        static_k, static_v: (N * num_heads, S, E / num_heads), used in place of the projections.
        average_attn_weights: returns the mean of the heads' weights.
        is_causal: says that attn_mask is the causal one, which may then be left unread.

    Returns:
        The result (L, N, E) and None or the weights: (N, L, S), or (N, num_heads, L, S).

    Raises:
        AssertionError: shapes or kinds of arguments do not go together.
        RuntimeError: attn_mask has another shape, or is missing with is_causal.

    >>> x, w = flambeau.ones(2, 1, 4), flambeau.eye(4)
    >>> bare = (w.repeat(3, 1), None, None, None, False, 0.0, w, None)
    >>> F.multi_head_attention_forward(x, x, x, 4, 2, *bare)[1]
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    batched = _check_attention_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        # Equal arguments stay one object: they are projected together.
        with_batch = {id(x): x.unsqueeze(1) for x in (query, key, value)}
        query, key, value = (with_batch[id(x)] for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    key_padding_mask, attn_mask, is_causal = _masks_of_call(
        key_padding_mask, attn_mask, is_causal, need_weights, query.dtype
    )
    target, batch, _ = query.shape
    heads = batch * num_heads
    _check_attention_sizes(
        query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight
    )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_separately(query, key, value, weights, in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    return _attend(
        (q, k, v),
        num_heads,
        (bias_k, bias_v),
        (static_k, static_v),
        add_zero_attn,
        (key_padding_mask, _attention_mask_3d(attn_mask, heads, target, key.shape[0])),
        dropout_p if training else 0.0,
        (out_proj_weight, out_proj_bias),
        need_weights and ("mean" if average_attn_weights else "each"),
        is_causal,
        batched,
    )


def _attend(
    projected, num_heads, biases, static, add_zero, masks, dropout_p, last, weights, causal, batched
):
    """What `multi_head_attention_forward` does after the projections."""
    q, k, v = projected
    padding, mask = masks
    target, batch, embed_dim = q.shape
    heads, head_dim = batch * num_heads, embed_dim // num_heads
    if (biases[0] is None) != (biases[1] is None):
        given, missing = ("bias_k", "bias_v") if biases[1] is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {missing} is None")
    if biases[0] is not None:
        if static[0] is not None or static[1] is not None:
            name = "key" if static[0] is not None else "value"
            raise AssertionError(f"bias cannot be added to static {name}.")
        k = ops.cat([k, biases[0].repeat(1, batch, 1)])
        v = ops.cat([v, biases[1].repeat(1, batch, 1)])
        mask, padding = _one_more(mask), _one_more(padding)

    def split(x):
        return x.reshape(x.shape[0], heads, head_dim).transpose(0, 1)

    q = split(q)
    k = split(k) if static[0] is None else _static_heads("static_k", static[0], heads, head_dim)
    v = split(v) if static[1] is None else _static_heads("static_v", static[1], heads, head_dim)
    if add_zero:
        k = ops.cat([k, k.new_zeros((heads, 1, head_dim))], 1)
        v = ops.cat([v, v.new_zeros((heads, 1, head_dim))], 1)
        mask, padding = _one_more(mask), _one_more(padding)
    source = k.shape[1]
    if padding is not None:
        for d, size in enumerate((batch, source)):
            if padding.shape[d] != size:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{d}] to be {size}, but got {padding.shape[d]}"
                )
        padding = padding.reshape(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(heads, 1, source)
        mask = padding if mask is None else mask + padding
    seen = None
    if weights:
        out, seen = _weighted(q, k, v, mask, dropout_p)
        seen = seen.reshape(batch, num_heads, target, source)
        if weights == "mean":
            seen = seen.mean(1)
    else:
        shape = (batch, num_heads, -1, head_dim)
        if mask is not None:
            if mask.shape[0] == 1:
                mask = mask.unsqueeze(0)
            else:
                mask = mask.reshape(batch, num_heads, -1, source)
        out = ops.scaled_dot_product_attention(
            q.reshape(shape), k.reshape(shape), v.reshape(shape), mask, dropout_p, causal
        )
        out = out.reshape(heads, target, head_dim)
    out = ops.linear(out.transpose(0, 1).reshape(target, batch, embed_dim), *last)
    if batched:
        return out, seen
    return out.squeeze(1), None if seen is None else seen.squeeze(0)


# Names that programs take although they are private.
_in_projection_packed, _mha_shape_check = _project, _check_attention_shapes
