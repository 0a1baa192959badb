"""Attention of several heads against a loop over samples, heads and queries; masks and errors."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

E, HEADS, L, S, N = 6, 2, 3, 4, 2


def filled(*shape, step=7919):
    values = [(i * step % 101) / 50 - 1 for i in range(math.prod(shape))]
    return flambeau.tensor(values, dtype=flambeau.float64).reshape(shape)


def make(**options):
    """An attention in float64 with biases that are not zero."""
    m = nn.MultiheadAttention(E, HEADS, dtype=flambeau.float64, **options)
    with flambeau.no_grad():
        for bias in (m.in_proj_bias, m.out_proj.bias):
            if bias is not None:
                bias.copy_(filled(*bias.shape))
    return m


def numbers(mask):
    return flambeau.zeros(mask.shape, dtype=flambeau.float64).masked_fill(mask, -math.inf)


def reference(m, query, key, value, attn_mask=None, key_padding_mask=None):
    """Result (L, N, E) and weights (N, heads, L, S) of (L, N, E), by loops; masks are numbers."""
    if m.in_proj_weight is not None:
        projections = m.in_proj_weight.chunk(3)
    else:
        projections = (m.q_proj_weight, m.k_proj_weight, m.v_proj_weight)
    biases = (0, 0, 0) if m.in_proj_bias is None else m.in_proj_bias.chunk(3)
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), projections, biases))
    size = E // HEADS
    samples, all_weights = [], []
    for n in range(q.shape[1]):
        heads, rows = [], []
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            qh, kh, vh = q[:, n, part], k[:, n, part], v[:, n, part]
            extra = 0
            if m.bias_k is not None:
                kh = flambeau.cat([kh, m.bias_k[0, :, part]])
                vh = flambeau.cat([vh, m.bias_v[0, :, part]])
                extra += 1
            if m.add_zero_attn:
                zero = flambeau.zeros(1, size, dtype=flambeau.float64)
                kh, vh, extra = flambeau.cat([kh, zero]), flambeau.cat([vh, zero]), extra + 1
            scores = []
            for i in range(qh.shape[0]):
                row = (kh * qh[i]).sum(1) / math.sqrt(size)
                if attn_mask is not None:
                    mask = attn_mask if attn_mask.dim() == 2 else attn_mask[n * HEADS + h]
                    row = row + F.pad(mask[i], (0, extra))
                if key_padding_mask is not None:
                    row = row + F.pad(key_padding_mask[n], (0, extra))
                scores.append(row.exp() / row.exp().sum())
            weights = flambeau.stack(scores)
            rows.append(weights)
            heads.append(weights @ vh)
        samples.append(flambeau.cat(heads, 1))
        all_weights.append(flambeau.stack(rows))
    out = flambeau.stack(samples, 1) @ m.out_proj.weight.T
    if m.out_proj.bias is not None:
        out = out + m.out_proj.bias
    return out, flambeau.stack(all_weights)


AM = flambeau.tensor([[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]).bool()
KP = flambeau.tensor([[0, 0, 0, 1], [0, 1, 0, 0]]).bool()
MASKS = {
    "none": {},
    "attn": {"attn_mask": AM},
    "attn-float-3d": {"attn_mask": filled(N * HEADS, L, S)},
    "padding": {"key_padding_mask": KP},
    "both": {"attn_mask": AM, "key_padding_mask": KP},
    "both-float": {"attn_mask": filled(L, S), "key_padding_mask": filled(N, S)},
}
OPTIONS = {
    "plain": {},
    "no-bias": {"bias": False},
    "sizes": {"kdim": 5, "vdim": 3},
    "bias-kv": {"add_bias_kv": True},
    "zero": {"add_zero_attn": True},
    "all": {"kdim": 5, "vdim": 3, "add_bias_kv": True, "add_zero_attn": True},
}


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("options", OPTIONS)
def test_against_loops(options, masks):
    m, masks = make(**OPTIONS[options]), MASKS[masks]
    inputs = [filled(L, N, E), filled(S, N, m.kdim), filled(S, N, m.vdim)]
    for x in inputs:
        x.requires_grad_()
    given = {k: numbers(v) if v.dtype == flambeau.bool else v for k, v in masks.items()}
    leaves = [*inputs, *m.parameters()]
    expected, weights = reference(m, *inputs, **given)
    expected_grads = flambeau.autograd.grad((expected * filled(L, N, E)).sum(), leaves)

    out, seen = m(*inputs, average_attn_weights=False, **masks)
    flambeau.testing.assert_close(out, expected)
    flambeau.testing.assert_close(seen, weights)
    _, mean = m(*inputs, **masks)
    flambeau.testing.assert_close(mean, weights.mean(1))
    out, nothing = m(*inputs, need_weights=False, **masks)
    assert nothing is None
    flambeau.testing.assert_close(out, expected)
    grads = flambeau.autograd.grad((out * filled(L, N, E)).sum(), leaves)
    for got, want in zip(grads, expected_grads):
        flambeau.testing.assert_close(got, want)


def test_batch_first_and_unbatched():
    m = make()
    q, k, v = filled(L, N, E), filled(S, N, E), filled(S, N, E, step=31)
    out, weights = m(q, k, v, key_padding_mask=KP)
    first = make(batch_first=True)
    first.load_state_dict(m.state_dict())
    turned, same = first(*(x.transpose(0, 1) for x in (q, k, v)), key_padding_mask=KP)
    flambeau.testing.assert_close(turned, out.transpose(0, 1))
    flambeau.testing.assert_close(same, weights)
    for layer, need in itertools.product((m, first), (True, False)):
        one, seen = layer(q[:, 0], k[:, 0], v[:, 0], key_padding_mask=KP[0], need_weights=need)
        flambeau.testing.assert_close(one, out[:, 0])
        assert (seen is None) is not need
        if need:
            flambeau.testing.assert_close(seen, weights[0])


@pytest.mark.parametrize("need_weights", [True, False])
def test_causal(need_weights):
    m, x = make(), filled(L, N, E)
    mask = nn.Transformer.generate_square_subsequent_mask(L, dtype=flambeau.float64)
    expected, _ = reference(m, x, x, x, mask)
    for extra in ({}, {"key_padding_mask": flambeau.zeros(N, L, dtype=flambeau.float64)}):
        out, _ = m(x, x, x, attn_mask=mask, is_causal=True, need_weights=need_weights, **extra)
        flambeau.testing.assert_close(out, expected)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        m(x, x, x, is_causal=True)


def test_queries_that_see_nothing():
    m, x = make(), filled(L, N, E)
    mask = flambeau.ones(L, L).bool()
    out, weights = m(x, x, x, attn_mask=mask)
    assert bool(weights.isnan().all()) and bool(out.isnan().all())
    # Without weights such queries give zeros, of which the last projection keeps its bias.
    out, _ = m(x, x, x, attn_mask=mask, need_weights=False)
    flambeau.testing.assert_close(out, m.out_proj.bias.expand(L, N, E))


def test_dropout():
    m, x = make(dropout=0.5), filled(L, N, E)
    _, weights = m(x, x, x, average_attn_weights=False)
    _, exact = m.eval()(x, x, x, average_attn_weights=False)
    kept = weights != 0
    assert 0 < int(kept.sum()) < weights.numel()
    flambeau.testing.assert_close(weights[kept], 2 * exact[kept])
    m.train()
    flambeau.manual_seed(3)
    a, _ = m(x, x, x, need_weights=False)
    flambeau.manual_seed(3)
    b, _ = m(x, x, x)
    flambeau.testing.assert_close(a, b)


def test_static_keys_and_values():
    m, x = make(), filled(L, N, E)
    k, v = filled(N * HEADS, 5, E // HEADS), filled(N * HEADS, 5, E // HEADS, step=31)
    members = (m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0)
    last = (m.out_proj.weight, m.out_proj.bias)

    def call(**options):
        return F.multi_head_attention_forward(x, x, x, E, HEADS, *members, *last, **options)

    out, weights = call(static_k=k, static_v=v)
    assert weights.shape == (N, L, 5)
    q = F.linear(x, m.in_proj_weight[:E], m.in_proj_bias[:E]).reshape(L, N * HEADS, -1)
    heads = F.scaled_dot_product_attention(q.transpose(0, 1), k, v)
    expected = m.out_proj(heads.transpose(0, 1).reshape(L, N, E))
    flambeau.testing.assert_close(out, expected)
    with pytest.raises(AssertionError, match=r"expecting static_k.size\(0\) of 4, but got 1"):
        call(static_k=k[:1])
    with pytest.raises(AssertionError, match=r"expecting static_v.size\(2\) of 3, but got 2"):
        call(static_v=v[..., :2])
    with pytest.raises(AssertionError, match="use_separate_proj_weight is True but q_proj_weight"):
        call(use_separate_proj_weight=True)
    with pytest.raises(AssertionError, match="expecting k_proj_weight shape of"):
        w = m.in_proj_weight[:E]
        call(use_separate_proj_weight=True, q_proj_weight=w, k_proj_weight=w[:2], v_proj_weight=w)


def test_function_errors():
    m, x = make(), filled(L, N, E)
    last = (m.out_proj.weight, m.out_proj.bias)

    def call(embed=E, heads=HEADS, weight=m.in_proj_weight, k=None, v=None, **options):
        members = (weight, m.in_proj_bias, k, v, False, 0.0)
        return F.multi_head_attention_forward(x, x, x, embed, heads, *members, *last, **options)

    bias = filled(1, 1, E)
    with pytest.raises(AssertionError, match="was expecting embedding dimension of 5, but got 6"):
        call(5)
    with pytest.raises(AssertionError, match="embed_dim 6 not divisible by num_heads 4"):
        call(heads=4)
    with pytest.raises(AssertionError, match="is False but in_proj_weight is None"):
        call(weight=None)
    with pytest.raises(AssertionError, match="bias_k is set but bias_v is None"):
        call(k=bias)
    with pytest.raises(AssertionError, match="bias_v is set but bias_k is None"):
        call(v=bias)
    with pytest.raises(AssertionError, match="bias cannot be added to static value"):
        call(k=bias, v=bias, static_v=filled(N * HEADS, L, 3))


X = filled(L, N, E)
ERRORS = [
    ((X[0, 0],) * 3, {}, AssertionError, "unbatched 2D or batched 3D tensor but received 1-D"),
    ((X, X[0], X[0]), {}, AssertionError, r"For batched \(3-D\) `query`, expected `key` and"),
    ((X[:, 0], X, X), {}, AssertionError, r"For unbatched \(2-D\) `query`, expected `key` and"),
    ((X,) * 3, {"key_padding_mask": KP[0]}, AssertionError, "`key_padding_mask` to be `None` or 2"),
    ((X,) * 3, {"attn_mask": X[0, 0]}, AssertionError, "to be `None`, 2-D or 3-D but found 1-D"),
    ((X[:, 0],) * 3, {"attn_mask": X}, AssertionError, r"shape to be \(2, 3, 3\) but got"),
    ((X,) * 3, {"attn_mask": AM}, RuntimeError, "shape of the 2D attn_mask is .* should be"),
    ((X,) * 3, {"attn_mask": X}, RuntimeError, "shape of the 3D attn_mask is .* should be"),
    ((X,) * 3, {"attn_mask": AM.long()}, AssertionError, "only bool and floating types of attn"),
    (
        (X,) * 3,
        {"key_padding_mask": KP.int()},
        AssertionError,
        "floating types of key_padding_mask",
    ),
    ((X,) * 3, {"key_padding_mask": KP}, AssertionError, r"shape\[1\] to be 3, but got 4"),
    ((X,) * 3, {"key_padding_mask": KP[:1, :3]}, AssertionError, r"shape\[0\] to be 2, but got 1"),
    ((X, X, X[:2]), {}, AssertionError, "does not match value shape"),
    ((X[..., :5],) * 3, {}, AssertionError, "expecting embedding dimension of 6, but got 5"),
]


@pytest.mark.parametrize(("inputs", "options", "kind", "message"), ERRORS)
def test_errors(inputs, options, kind, message):
    with pytest.raises(kind, match=message):
        make()(*inputs, **options)


def test_wrong_arguments():
    for sizes in ((0, 2), (4, 0), (-4, 2)):
        with pytest.raises(ValueError, match="must be greater than 0"):
            nn.MultiheadAttention(*sizes)
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)
    with pytest.raises(AssertionError, match="key's sequence and batch dims .* do not match"):
        make(kdim=5, vdim=3)(X, filled(S, N, 5), filled(L, N, 3))
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        make()(X, X, X, attn_mask=filled(L, L), key_padding_mask=KP[:, :3])


def test_state():
    assert list(make().state_dict()) == [
        "in_proj_weight",
        "in_proj_bias",
        "out_proj.weight",
        "out_proj.bias",
    ]
    m = make(kdim=5, add_bias_kv=True)
    assert list(m.state_dict()) == [
        "q_proj_weight",
        "k_proj_weight",
        "v_proj_weight",
        "in_proj_bias",
        "bias_k",
        "bias_v",
        "out_proj.weight",
        "out_proj.bias",
    ]
    assert m.k_proj_weight.shape == (E, 5) and m.in_proj_weight is None
    assert list(make(bias=False).state_dict()) == ["in_proj_weight", "out_proj.weight"]
    fresh = nn.MultiheadAttention(E, HEADS)
    assert float(fresh.in_proj_bias.abs().sum() + fresh.out_proj.bias.abs().sum()) == 0
    bound = math.sqrt(6 / (3 * E + E))
    assert bound * 0.9 < float(fresh.in_proj_weight.abs().max()) <= bound
    q, k, v = filled(L, N, E), filled(S, N, 5), filled(S, N, E)
    for twin in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert twin(q, k, v)[0].tolist() == m(q, k, v)[0].tolist()
        assert twin.out_proj.weight is not m.out_proj.weight
    assert repr(fresh) == (
        "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear("
        "in_features=6, out_features=6, bias=True)\n)"
    )


def test_merged_masks():
    m, x = make(batch_first=True), filled(N, L, E)
    attn, padding = filled(L, L), filled(N, L)
    mask, kind = m.merge_masks(attn, padding, x)
    assert kind == 2 and mask.shape == (N, HEADS, L, L)
    flambeau.testing.assert_close(mask[1, 0], attn + padding[1])
    mask, kind = m.merge_masks(filled(N * HEADS, L, L), None, x)
    assert kind == 2 and mask[1, 1].tolist() == filled(N * HEADS, L, L)[3].tolist()
    assert m.merge_masks(None, padding, x) == (padding, 1)
    assert m.merge_masks(None, None, x) == (None, None)


def test_half_precision():
    m, x = nn.MultiheadAttention(8, 2), flambeau.randn(3, 2, 8)
    exact, _ = m(x, x, x, need_weights=False)
    half, _ = m.bfloat16()(*(x.bfloat16(),) * 3, need_weights=False)
    assert half.dtype == flambeau.bfloat16
    flambeau.testing.assert_close(half.float(), exact, rtol=0.05, atol=0.05)
