"""Attention: one blocked kernel that never holds the whole matrix of scores."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

INTERNAL = {"forms": "", "tags": "internal constant:1 partial_grads"}

op(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,"
    " float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    kernel=composite,
    samples=[
        (T(2, 2, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 3)),
        (T(2, 3, 4), T(2, 3, 4), T(2, 3, 4), None, 0.0, True),
        (T(3, 4), T(2, 4), T(2, 4), T(3, 2)),
    ],
    forms="",
    alias="nn.functional.scaled_dot_product_attention",
    tags="autocast:lower",
    doc="""
        ``softmax(query @ key^T * scale + mask) @ value``.

        Args:
            query, key, value: (..., L, E), (..., S, E) and (..., S, V).
            attn_mask: True where a key may be looked at, or numbers to add to the scores. A query
                that may look nowhere gives zeros.
            dropout_p: probability with which attention weights are dropped.
            is_causal: query i looks only at keys 0 ... i.
            scale: ``1 / sqrt(E)`` if left out.
            enable_gqa: fewer heads of keys and values than of queries, each used several times.
    """,
    example="""
        >>> x = flambeau.eye(2)
        >>> flambeau.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.0)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """,
)
# qkv: query (..., H, L, E), key (..., G, S, E) and value (..., G, S, V), where G divides H. One list,
# so that one pass makes all three gradients.
op(
    "_attention(Tensor[] qkv, Tensor? attn_mask, bool is_causal, float scale) -> (Tensor, Tensor)",
    kernel=native,
    node="attention_node(qkv)",
    grad={"qkv": "attention_grads(grads[0], qkv, attn_mask, results, is_causal, scale)"},
    doc="Result, and the log-sum-exp of each query's scores: infinity for one that looks nowhere.",
    **INTERNAL,
)
op(
    "_attention_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor output,"
    " Tensor logsumexp, Tensor? attn_mask, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)",
    kernel=native,
    forms="",
    tags="internal",
)
