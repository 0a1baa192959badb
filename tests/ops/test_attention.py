"""The blocked attention kernel against a composition in float64, and its promises about bits."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import subprocess
import sys

import numpy
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn import functional as F

# B, H, G (heads of keys), L, S, E, V
SHAPES = [
    (2, 3, 3, 7, 9, 5, 5),
    (1, 1, 1, 1, 1, 1, 1),
    (1, 2, 2, 1, 300, 64, 64),
    (1, 2, 2, 300, 1, 3, 2),
    (2, 4, 2, 33, 47, 65, 17),
    (1, 8, 1, 130, 131, 8, 40),
    (3, 4, 4, 128, 128, 32, 32),
    (1, 1, 1, 520, 390, 16, 16),
]


def arrays(shape, dtype="float64", seed=0):
    b, h, g, length, keys, width, value_width = shape
    rng = numpy.random.default_rng(seed)
    return [
        rng.normal(size=s).astype(dtype)
        for s in (
            (b, h, length, width),
            (b, g, keys, width),
            (b, g, keys, value_width),
            (b, h, length, value_width),
        )
    ]


def mask_of(kind, shape, rng):
    b, h, _, length, keys, _, _ = shape
    if kind == "bool":
        return rng.random((b, 1, length, keys)) < 0.6
    if kind == "row":  # the same keys for all queries
        return rng.random((1, keys)) < 0.7
    if kind == "float":
        return rng.normal(size=(h, length, keys))
    if kind == "blind":  # no query may look anywhere
        return numpy.zeros((length, keys), bool)
    return None


def expected(q, k, v, mask=None, causal=False, scale=None):
    """Weights and result in float64."""
    group = q.shape[1] // k.shape[1]
    k, v = numpy.repeat(k, group, 1), numpy.repeat(v, group, 1)
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        seen = numpy.tril(numpy.ones(scores.shape[-2:], bool))
        scores = numpy.where(seen, scores, -numpy.inf)
    if mask is not None:
        scores = numpy.where(mask, scores, -numpy.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True, initial=-1e30)
    weights = numpy.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    weights = numpy.divide(weights, total, out=numpy.zeros_like(weights), where=total > 0)
    return weights, weights @ v


def expected_grads(q, k, v, g, weights, scale=None):
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = numpy.repeat(k, group, 1), numpy.repeat(v, group, 1)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    dw = g @ wide_v.swapaxes(-1, -2)
    ds = weights * (dw - (dw * weights).sum(-1, keepdims=True)) * scale

    def gathered(x):
        return x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)

    return (
        ds @ wide_k,
        gathered(ds.swapaxes(-1, -2) @ q),
        gathered(weights.swapaxes(-1, -2) @ g),
    )


def tensor(array, **options):
    return flambeau.tensor(array, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["none", "causal", "bool", "row", "float", "blind"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_against_float64(shape, kind, dtype):
    rng = numpy.random.default_rng(3)
    mask = mask_of(kind, shape, rng)
    mask = mask if mask is None or mask.dtype == bool else mask.astype(dtype)
    q, k, v, g = arrays(shape, dtype)
    leaves = [tensor(x, requires_grad=True) for x in (q, k, v)]
    out = F.scaled_dot_product_attention(
        *leaves,
        None if mask is None else tensor(mask),
        is_causal=kind == "causal",
        enable_gqa=shape[1] != shape[2],
    )
    out.backward(tensor(g))
    wide = [x.astype("float64") for x in (q, k, v, g)]
    weights, want = expected(*wide[:3], mask, kind == "causal")
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == "float64" else {"rtol": 2e-5, "atol": 2e-6}
    numpy.testing.assert_allclose(out.detach().numpy(), want, **close)
    for leaf, grad in zip(leaves, expected_grads(*wide, weights)):
        atol = close["atol"] * max(1, numpy.abs(grad).max()) * 4
        numpy.testing.assert_allclose(leaf.grad.numpy(), grad, rtol=close["rtol"], atol=atol)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_half_precision_is_rounded_once(dtype):
    q, k, v, g = (tensor(x).to(dtype) for x in arrays((1, 2, 2, 20, 30, 8, 8)))
    leaves = [x.requires_grad_() for x in (q, k, v)]
    wide = [x.detach().float().requires_grad_() for x in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves)
    want = F.scaled_dot_product_attention(*wide)
    assert out.dtype == dtype
    assert flambeau.equal(out, want.to(dtype))
    out.backward(g)
    # the rounded result enters the gradient
    want.backward(g.float())
    for a, b in zip(leaves, wide):
        flambeau.testing.assert_close(a.grad, b.grad.to(dtype), rtol=1e-2, atol=1e-2)


def test_views_of_one_projection_equal_copies():
    qkv = tensor(numpy.random.default_rng(0).normal(size=(3, 40, 96)).astype("float32"))
    views = [x.view(3, 40, 4, 8).transpose(1, 2) for x in qkv.split(32, 2)]
    out = F.scaled_dot_product_attention(*views, is_causal=True)
    copies = [x.contiguous() for x in views]
    assert flambeau.equal(out, F.scaled_dot_product_attention(*copies, is_causal=True))
    # as queries lie in memory, so does the result: joining the heads again is a view
    assert out.transpose(1, 2).is_contiguous()
    odd = [x.transpose(-1, -2).contiguous().transpose(-1, -2) for x in copies]
    assert flambeau.equal(out, F.scaled_dot_product_attention(*odd, is_causal=True))


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ((2, 0, 4), (2, 3, 4), (2, 3, 5)),
        ((0, 2, 4), (0, 3, 4), (0, 3, 4)),
        ((2, 3, 4), (2, 0, 4), (2, 0, 5)),
        ((2, 3, 0), (2, 3, 0), (2, 3, 5)),
        ((2, 3, 4), (2, 3, 4), (2, 3, 0)),
    ],
)
def test_empty(query, key, value):
    leaves = [flambeau.ones(s, requires_grad=True) for s in (query, key, value)]
    out = F.scaled_dot_product_attention(*leaves)
    assert out.shape == (*query[:-1], value[-1])
    want = 1.0 if key[1] and query[2] == 0 else float(key[1] > 0)
    assert flambeau.equal(out, flambeau.full(out.shape, want))  # no keys: zeros
    out.sum().backward()
    assert all(x.grad.shape == x.shape and x.grad.isfinite().all() for x in leaves)


def test_nan_and_infinity_stay_in_their_rows():
    q, k, v, _ = (tensor(x) for x in arrays((1, 1, 1, 20, 20, 4, 4), "float32"))
    k[0, 0, 12] = math.nan
    out = F.scaled_dot_product_attention(q, k, v)
    assert out.isnan().all()
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert out[0, 0, :12].isfinite().all() and out[0, 0, 12:].isnan().all()
    mask = flambeau.zeros(20, 20)
    mask[3, 4] = math.inf
    k[0, 0, 12] = 0
    out = F.scaled_dot_product_attention(q, k, v, mask)
    assert out[0, 0, 3].isnan().all() and out[0, 0, :3].isfinite().all()


def test_large_scores_do_not_overflow():
    q, k, v, _ = (tensor(x) for x in arrays((1, 1, 1, 9, 300, 4, 4)))
    out = F.scaled_dot_product_attention(q.float() * 100, k.float() * 100, v.float())
    want = F.scaled_dot_product_attention(q * 100, k * 100, v)
    flambeau.testing.assert_close(out.double(), want, rtol=1e-2, atol=1e-2)


CHECKED = {
    "plain": ((1, 2, 2, 3, 4, 3, 2), {}),
    "causal": ((1, 2, 2, 4, 3, 2, 2), {"is_causal": True}),
    "groups": ((1, 4, 2, 3, 3, 2, 2), {"enable_gqa": True, "scale": 0.7}),
}


@pytest.mark.parametrize("name", CHECKED)
def test_gradients(name):
    shape, options = CHECKED[name]
    leaves = [tensor(x, requires_grad=True) for x in arrays(shape)[:3]]

    def call(*x):
        return F.scaled_dot_product_attention(*x, **options)

    assert gradcheck(call, leaves)
    assert gradgradcheck(call, leaves)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_gradients_with_masks(kind):
    shape = (1, 2, 2, 3, 4, 2, 2)
    mask = tensor(mask_of(kind, shape, numpy.random.default_rng(1)))
    mask[..., 1, :] = False if kind == "bool" else -math.inf
    leaves = [tensor(x, requires_grad=True) for x in arrays(shape)[:3]]

    def call(*x):
        return F.scaled_dot_product_attention(*x, mask)

    assert gradcheck(call, leaves)
    assert gradgradcheck(call, leaves)


def test_gradient_of_the_mask():
    shape = (1, 2, 2, 3, 4, 2, 2)
    mask = tensor(mask_of("float", shape, numpy.random.default_rng(1)), requires_grad=True)
    q, k, v, _ = (tensor(x) for x in arrays(shape))
    assert gradcheck(lambda m: F.scaled_dot_product_attention(q, k, v, m), (mask,))


def test_dropout():
    q, k, v, _ = (tensor(x, requires_grad=True) for x in arrays((2, 2, 2, 16, 16, 4, 4)))
    flambeau.manual_seed(0)
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    plain = F.scaled_dot_product_attention(q, k, v)
    assert not flambeau.equal(out, plain)
    out.sum().backward()
    assert q.grad.isfinite().all()
    assert not F.scaled_dot_product_attention(q, k, v, dropout_p=1.0).any()
    with pytest.raises(RuntimeError, match="between 0 and 1, but got 1.5"):
        F.scaled_dot_product_attention(q, k, v, dropout_p=1.5)


def test_heads_broadcast():
    q, k, v, _ = (tensor(x, requires_grad=True) for x in arrays((2, 3, 3, 5, 6, 4, 4)))
    out = F.scaled_dot_product_attention(q, k[:1, :1], v[0])
    want = F.scaled_dot_product_attention(q, k[:1, :1].expand(2, 3, 6, 4), v[:1].expand(2, 3, 6, 4))
    assert flambeau.equal(out, want)
    out.sum().backward()
    assert k.grad[1].abs().sum() == 0


def test_autocast_computes_lower():
    q, k, v, _ = (tensor(x) for x in arrays((1, 2, 2, 3, 4, 4, 4), "float32"))
    with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        out = F.scaled_dot_product_attention(q, k, v, flambeau.zeros(3, 4))
    want = F.scaled_dot_product_attention(*(x.bfloat16() for x in (q, k, v)))
    assert out.dtype == flambeau.bfloat16
    assert flambeau.equal(out, want)


def test_names_of_nodes():
    q = flambeau.ones(1, 2, 3, 4, requires_grad=True)
    names = {
        4: "ScaledDotProductFlashAttentionForCpuBackward0",
        3: "UnsafeViewBackward0",
        2: "MmBackward0",
    }
    for x in (q, q[0], q[0, 0]):
        assert F.scaled_dot_product_attention(x, x, x).grad_fn.name() == names[x.dim()]


def test_meta():
    q, k, v = (
        flambeau.empty(s, device="meta", dtype=flambeau.bfloat16)
        for s in ((2, 4, 5, 8), (2, 2, 6, 8), (2, 2, 6, 3))
    )
    out = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert out.shape == (2, 4, 5, 3) and out.is_meta and out.dtype == flambeau.bfloat16


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda q: (q, q.double(), q), "to have the same dtype, but got query.dtype"),
        (lambda q: (q[0, 0, 0], q, q), "at least 2 dimensional, but got query.dim: 1"),
        (lambda q: (q, q, q, q.int()), "Expected attn_mask dtype to be bool or float"),
        (lambda q: (q, q, q, q[..., :2]), "attn_mask of shape"),
        (lambda q: (q, q[..., :2], q), "Expected size for first two dimensions"),
        (lambda q: (q, flambeau.ones(3, 2, 4, 4), q), "broadcast"),
    ],
)
def test_errors(call, text):
    with pytest.raises(RuntimeError, match=text):
        F.scaled_dot_product_attention(*call(flambeau.ones(2, 2, 4, 4)))


def test_groups_must_divide():
    q = flambeau.ones(1, 3, 4, 4)
    with pytest.raises(RuntimeError, match="must divide the number of heads in query"):
        F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True)
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.scaled_dot_product_attention(q[0, 0], q[0, 0], q[0, 0], enable_gqa=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"query": flambeau.ones(4)}, "expected query with 2 to 64 dimensions"),
        ({"key": flambeau.ones(2, 5, 3)}, "where G divides H"),
        ({"value": flambeau.ones(2, 4, 4)}, "where G divides H"),
        ({"output": flambeau.ones(1)}, "expected output of shape"),
        ({"logsumexp": flambeau.ones(1)}, "expected logsumexp of shape"),
        ({"attn_mask": flambeau.ones(2, 7)}, "does not broadcast"),
    ],
)
def test_direct_calls_are_checked(change, text):
    q, k, v = flambeau.ones(2, 3, 4), flambeau.ones(2, 5, 4), flambeau.ones(2, 5, 4)
    given = {
        "grad_output": flambeau.ones(2, 3, 4),
        "query": q,
        "key": k,
        "value": v,
        "output": flambeau.ones(2, 3, 4),
        "logsumexp": flambeau.ones(2, 3),
        "attn_mask": None,
        **change,
    }
    with pytest.raises(RuntimeError, match=text):
        flambeau._C.ops._attention_backward(*given.values(), False, 1.0)


def test_lists_of_another_length_are_refused():
    q = flambeau.ones(1, 2, 3, 4, requires_grad=True)
    for given in ([], [q], [q, q], [q] * 4):
        with pytest.raises(RuntimeError, match="expected query, key and value, but got"):
            flambeau._C.ops._attention(given, None, False, 1.0)


# ---- bits ----------------------------------------------------------------------------------------


def digest():
    """Of results and gradients; this file run as a program prints it."""
    found = hashlib.sha256()
    for shape, causal, dtype in itertools.product(SHAPES, (False, True), ("float32", "float64")):
        leaves = [tensor(x, requires_grad=True) for x in arrays(shape, dtype)[:3]]
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=True)
        out.square().sum().backward()
        for x in (out.detach(), *(t.grad for t in leaves)):
            found.update(x.contiguous().numpy().tobytes())
    return found.hexdigest()


def test_bits_do_not_depend_on_threads():
    before, found = flambeau.get_num_threads(), set()
    try:
        for count in (1, 2, 3):
            flambeau.set_num_threads(count)
            found.add(digest())
    finally:
        flambeau.set_num_threads(before)
    assert len(found) == 1


def test_bits_do_not_depend_on_the_instruction_set():
    found = {
        subprocess.run(
            [sys.executable, __file__],
            env={**os.environ, "FLAMBEAU_CPU": target},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for target in ("baseline", "avx2", "")
    }
    assert len(found) == 1


if __name__ == "__main__":
    print(digest())
