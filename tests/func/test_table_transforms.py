"""Function transforms on all samples of the table: vmap is a loop, forward mode is reverse mode."""

from __future__ import annotations

import warnings

import numpy
import pytest
from test_table import STABLE, Call, differentiable, map_tensors, tensors

import flambeau
from flambeau import func
from flambeau._ops import OPS

BATCH = 3

# Operators that vmap refuses, each with the reason. The list may only shrink.
NOT_BATCHED: dict[str, str] = {}
# Operators that vmap runs in a loop.
LOOPED = {
    "_gru_layer": "a batch of networks goes through the composition, never through the kernel",
    "_lstm_layer": "as _gru_layer",
    "_rnn_layer": "as _gru_layer",
    "histc": "the range follows from each entry's values",
    "nonzero_static": "each entry has its own number of positions",
}
# Operators that show memory, which rows of a stack along the last dimension share.
SHOWS_MEMORY = {"as_strided", "as_strided_copy", "as_strided_scatter"}
# Operators whose further results have no gradient in reverse mode.
STATISTICS = {"native_batch_norm", "native_group_norm"}
# Operators without forward mode.
NOT_FORWARD: dict[str, str] = {}


def variants(op, index):
    """The sample's arguments, several times with other elements."""
    calls = [Call(op, index, "float64") for _ in range(BATCH)]
    for i, call in enumerate(calls[1:], 1):
        rng = numpy.random.default_rng(i)

        def change(t, rng=rng, scale=1 + 0.01 * i):
            if not t.is_floating_point() or t.numel() < 2:
                return t * scale if t.is_floating_point() else t
            order = rng.permutation(t.numel())
            return t.reshape(-1)[flambeau.tensor(order.tolist())].reshape(t.shape)

        call.values = map_tensors(call.values, change)
    return calls


def choices(count):
    """Which tensors are batches, and along which dimension."""
    yield [0] * count
    yield [-1] * count
    if count > 1:
        for k in range(count):
            yield [0 if i == k else None for i in range(count)]


def check_vmap(op, index):
    calls = variants(op, index)
    try:
        calls[0]()
    except Exception:
        return
    count = len(calls[0].tensors)
    for dims in choices(count):
        if -1 in dims and op.name in SHOWS_MEMORY:
            continue
        rows = [
            [c.tensors[i] if d is not None else calls[0].tensors[i] for i, d in enumerate(dims)]
            for c in calls
        ]

        def function(*values):
            given = iter(values)
            return tuple(tensors(calls[0].each(lambda t: next(given))()))

        try:
            want = [function(*row) for row in rows]
        except (RuntimeError, IndexError):
            continue  # the permuted elements are no valid arguments
        stacked = [
            flambeau.stack([row[i] for row in rows], 0 if d == 0 else -1)
            if d is not None
            else rows[0][i]
            for i, d in enumerate(dims)
        ]
        got = func.vmap(function, tuple(dims))(*stacked)
        for k, g in enumerate(got):
            w = flambeau.stack([row[k] for row in want])
            assert g.shape == w.shape, f"sample {index}, dims {dims}: {g.shape}, expected {w.shape}"
            assert g.dtype == w.dtype, f"sample {index}, dims {dims}: {g.dtype}, expected {w.dtype}"
            numpy.testing.assert_allclose(
                g.numpy(), w.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"sample {index}, dims {dims}"
            )


@pytest.mark.parametrize("name", [n for n in STABLE if OPS[n].tensors])
def test_vmap_equals_a_loop(name):
    if name in NOT_BATCHED:
        pytest.skip(NOT_BATCHED[name])
    with warnings.catch_warnings():
        if name not in LOOPED:
            warnings.filterwarnings("error", "There is a performance drop")
        for index in range(len(OPS[name].samples)):
            check_vmap(OPS[name], index)


def check_forward(op, index):
    call = Call(op, index, "float64")
    try:
        result = call()
    except Exception:
        return
    leaves = [t for t in call.tensors if t.dtype == flambeau.float64]
    if not leaves or not all(t.numel() for t in leaves):
        return
    chosen = {id(t) for t in leaves}

    def function(*values):
        given = iter(values)
        out = call.each(lambda t: next(given) if id(t) in chosen else t)()
        kept = tensors(out)[:1] if op.name in STATISTICS else tensors(out)
        return tuple(t for t in kept if t.is_floating_point() or t.is_complex())

    if not tensors(result) or not function(*leaves):
        return
    rng = numpy.random.default_rng(index)

    def noise(t):
        values = flambeau.tensor(rng.normal(size=tuple(t.shape)).tolist(), dtype=flambeau.float64)
        return values.reshape(t.shape).to(t.dtype)

    directions = tuple(map(noise, leaves))
    outs, pushed = func.jvp(function, tuple(leaves), directions)
    plain = function(*leaves)
    for o, p in zip(outs, plain):
        assert o.shape == p.shape and o.dtype == p.dtype
        numpy.testing.assert_allclose(o.numpy(), p.numpy(), rtol=1e-9, atol=1e-9)
    _, pull = func.vjp(function, *leaves)
    weights = tuple(map(noise, outs))
    pulled = pull(weights)
    inner = sum(
        (w.conj() * t).real.sum() if t.is_complex() else (w * t).sum()
        for w, t in zip(weights, pushed)
    )
    other = sum((g * d).sum() for g, d in zip(pulled, directions))
    numpy.testing.assert_allclose(float(inner), float(other), rtol=1e-7, atol=1e-8)
    # each entry of a batch of tangents
    many = tuple(flambeau.stack([d, -2 * d]) for d in directions)
    rows = func.vmap(lambda *d: func.jvp(function, tuple(leaves), d)[1])(*many)
    for r, t in zip(rows, pushed):
        numpy.testing.assert_allclose(r[0].numpy(), t.numpy(), rtol=1e-7, atol=1e-8)
        numpy.testing.assert_allclose(r[1].numpy(), -2 * t.numpy(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in STABLE if differentiable(OPS[n])])
def test_forward_mode_equals_reverse_mode(name):
    if name in NOT_FORWARD:
        pytest.skip(NOT_FORWARD[name])
    for index in range(len(OPS[name].samples)):
        check_forward(OPS[name], index)
