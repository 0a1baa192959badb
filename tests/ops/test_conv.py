"""Convolutions against a plain NumPy loop, on every path: oneDNN, unfolding, double precision."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

# input, weight, stride, padding, dilation, groups
CASES = [
    ((2, 3, 9), (4, 3, 3), (2,), (1,), (1,), 1),
    ((1, 4, 17, 13), (6, 4, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 4, 8, 9), (4, 2, 3, 2), (2, 1), (0, 1), (1, 2), 2),
    ((2, 6, 10, 10), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
]


def reference(x, w, stride, padding, dilation, groups):
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    kernel = w.shape[2:]
    sizes = [
        (x.shape[d + 2] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1 for d in range(rank)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for tap in np.ndindex(*kernel):
        at = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, dilation, sizes, stride, strict=True)
        )
        for g in range(groups):
            part = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *at)]
            rows = slice(g * per_out, (g + 1) * per_out)
            taps = w[(rows, slice(None), *tap)]
            out[:, rows] += np.einsum("nc...,oc->no...", part, taps)
    return out


def arrays(case, seed=0):
    r = np.random.RandomState(seed)
    return r.randn(*case[0]), r.randn(*case[1]), r.randn(case[1][0])


def conv(x, w, b, case):
    return getattr(flambeau, f"conv{x.dim() - 2}d")(x, w, b, *case[2:])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "dtype, tol", [("float32", 1e-5), ("float64", 1e-12), ("float16", 5e-3), ("bfloat16", 3e-2)]
)
def test_values(case, dtype, tol):
    x, w, b = arrays(case)
    expected = reference(x, w, *case[2:]) + b.reshape(-1, *[1] * (x.ndim - 2))
    out = conv(*(flambeau.from_numpy(v).to(getattr(flambeau, dtype)) for v in (x, w, b)), case)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(out.double().numpy(), expected, rtol=0, atol=tol * scale)


@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    x, w, b = (flambeau.from_numpy(v).requires_grad_() for v in arrays(case))
    assert gradcheck(lambda *t: conv(*t, case), (x, w, b), fast_mode=True)
    assert gradgradcheck(lambda *t: conv(*t, case), (x, w, b), fast_mode=True)


@pytest.mark.parametrize("case", CASES)
def test_transpose_is_the_adjoint(case):
    x, w, _ = (flambeau.from_numpy(v) for v in arrays(case))
    out = conv(x, w, None, case)
    y = flambeau.from_numpy(np.random.RandomState(1).randn(*out.shape))
    dx = flambeau._C.ops.conv_input_grad(y, w, x.shape, *case[2:])
    np.testing.assert_allclose(float((out * y).sum()), float((x * dx).sum()), rtol=1e-10)


# input, outputs, stride, padding, dilation: of many channels, so that the kernels for 3x3 filters
# and for few pixels run. Odd sizes, tiles cut off, one row, more padding than the filter needs.
WIDE_CASES = [
    ((2, 32, 14, 14), 32, 1, 1, 1),
    ((1, 64, 56, 56), 64, 1, 1, 1),
    ((3, 24, 7, 9), 40, 1, 1, 1),
    ((2, 32, 13, 30), 37, 1, 0, 1),
    ((2, 32, 61, 47), 24, 1, 2, 1),
    ((1, 32, 5, 300), 32, 1, (1, 0), 1),
    ((4, 40, 100, 5), 33, 1, (0, 2), 1),
    ((8, 128, 7, 7), 64, 1, 1, 1),
    ((2, 96, 9, 11), 50, 2, 1, 1),
    ((1, 200, 7, 7), 29, 1, 1, 1),
    ((2, 64, 12, 10), 32, (1, 2), (2, 3), (2, 1)),
    ((1, 64, 1, 1), 24, 1, 1, 1),
    ((3, 26, 21, 19), 30, 1, 0, 1, 1),
    ((2, 5, 40, 40), 33, 2, 1, 1, 1),
    ((2, 31, 9, 33), 24, 3, 0, 1, 1),
]


def wide(case, threads):
    shape, outputs, *how = case
    kernel = how.pop() if len(how) > 3 else 3
    r = np.random.RandomState(3)
    values = [r.randn(*shape), r.randn(outputs, shape[1], kernel, kernel), r.randn(outputs)]
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    try:
        results = []
        for dtype in (flambeau.float32, flambeau.float64):
            x, w, b = (flambeau.from_numpy(v).to(dtype).requires_grad_() for v in values)
            y = flambeau.conv2d(x, w, b, *how)
            grad = flambeau.from_numpy(np.random.RandomState(4).randn(*y.shape)).to(dtype)
            y.backward(grad)
            results.append([t.detach().numpy() for t in (y, x.grad, w.grad, b.grad)])
    finally:
        flambeau.set_num_threads(before)
    return results


@pytest.mark.parametrize("case", WIDE_CASES)
def test_wide_values_and_threads(case):
    single, double = wide(case, 1)
    winograd = len(case) == 5 and case[2] == case[4] == 1
    tolerance = 2e-5 if winograd else 2e-6  # F(4x4, 3x3) loses about a decimal of float32
    for got, expected in zip(single, double, strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    for one, two in zip(single, wide(case, 2)[0], strict=True):
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    "filters, kernel, stride, padding, dilation",
    [(1, 3, 1, 1, 1), (2, 3, 2, 1, 1), (1, 5, 1, (2, 1), 2), (3, (2, 7), (3, 1), 0, 1)],
)
def test_depthwise(filters, kernel, stride, padding, dilation):
    flambeau.manual_seed(0)
    for size in ((1, 1, 9, 30), (3, 5, 21, 19)):
        x = flambeau.randn(*size[:1], size[1] + 1, *size[2:], dtype=flambeau.float64)
        conv = flambeau.nn.Conv2d(
            size[1] + 1, filters * (size[1] + 1), kernel, stride, padding, dilation, size[1] + 1
        )
        expected = conv.double()(x)
        got = conv.float()(x.float())
        np.testing.assert_allclose(
            got.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("case", [WIDE_CASES[0], WIDE_CASES[8], WIDE_CASES[10]])
def test_wide_channels_last(case):
    shape, outputs, *how = case
    results = []
    for memory_format in (flambeau.contiguous_format, flambeau.channels_last):
        r = np.random.RandomState(3)
        x, w = (
            flambeau.from_numpy(v).float().contiguous(memory_format=memory_format).requires_grad_()
            for v in (r.randn(*shape), r.randn(outputs, shape[1], 3, 3))
        )
        y = flambeau.conv2d(x, w, None, *how)
        assert y.is_contiguous(memory_format=memory_format)
        y.square().sum().backward()
        results.append([t.detach().numpy() for t in (y, x.grad, w.grad)])
    for one, two in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=2e-5 * np.abs(one).max())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38])
def test_wide_infinities_stay_where_they_belong(value):
    r = np.random.RandomState(0)
    x, w = (flambeau.from_numpy(r.rand(*s)).float() for s in ((1, 32, 20, 20), (24, 32, 3, 3)))
    x[0, 3, 10, 10] = value
    x.requires_grad_()
    w.requires_grad_()
    y = flambeau.conv2d(x, w, padding=1)
    grad = flambeau.ones_like(y)
    grad[0, 5, 2, 3] = value
    y.backward(grad)
    xd, wd = (t.detach().double().requires_grad_() for t in (x, w))
    yd = flambeau.conv2d(xd, wd, padding=1)
    yd.backward(grad.double())
    for got, exact in ((y, yd), (x.grad, xd.grad), (w.grad, wd.grad)):
        expected = exact.detach().float().numpy()  # what overflows float32 is infinite
        same = np.isfinite(expected) == np.isfinite(got.detach().numpy())
        assert same.all()


@pytest.mark.parametrize("case", [CASES[1], CASES[3]])
def test_channels_last_is_kept(case):
    x, w, b = (flambeau.from_numpy(v).float() for v in arrays(case))
    last = conv(x.contiguous(memory_format=flambeau.channels_last), w, b, case)
    assert last.is_contiguous(memory_format=flambeau.channels_last)
    np.testing.assert_allclose(last.numpy(), conv(x, w, b, case).numpy(), rtol=1e-4, atol=1e-4)


def test_same_padding_and_unbatched():
    x, w = flambeau.randn(3, 7, 8), flambeau.randn(2, 3, 4, 3)
    assert flambeau.conv2d(x, w, padding="same").shape == (2, 7, 8)
    assert flambeau.conv2d(x, w, padding="valid").shape == (2, 4, 6)


def test_threads_do_not_change_results():
    x, w = flambeau.randn(4, 16, 24, 24), flambeau.randn(16, 16, 3, 3)
    before = flambeau.get_num_threads()
    try:
        results = []
        for n in (1, 2, 4):
            flambeau.set_num_threads(n)
            results.append(flambeau.conv2d(x, w, padding=1).numpy().tobytes())
    finally:
        flambeau.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_meta():
    x, w = flambeau.empty(2, 3, 8, 8, device="meta"), flambeau.empty(4, 3, 3, 3, device="meta")
    assert flambeau.conv2d(x, w, padding=1).shape == (2, 4, 8, 8)


@pytest.mark.skipif("FLAMBEAU_NO_ONEDNN" in os.environ, reason="already without oneDNN")
def test_without_onednn():
    environment = {**os.environ, "FLAMBEAU_NO_ONEDNN": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        [*command, "-k", "values or gradients"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_errors():
    x, w = flambeau.ones(1, 3, 5, 5), flambeau.ones(2, 3, 3, 3)
    with pytest.raises(RuntimeError, match="to have 4 channels, but got 3 channels instead"):
        flambeau.conv2d(x, flambeau.ones(2, 4, 3, 3))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        flambeau.conv2d(x, flambeau.ones(2, 3, 7, 7))
    with pytest.raises(RuntimeError, match="non-positive stride is not supported"):
        flambeau.conv2d(x, w, stride=0)
    with pytest.raises(RuntimeError, match="not supported for strided convolutions"):
        flambeau.conv2d(x, w, stride=2, padding="same")
    with pytest.raises(RuntimeError, match="should be the same"):
        flambeau.conv2d(x, w.double())
    with pytest.raises(RuntimeError, match="3D .unbatched. or 4D"):
        flambeau.conv2d(x[0, 0], w)
