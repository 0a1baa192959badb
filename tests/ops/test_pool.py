"""Pooling against NumPy windows."""

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

F = flambeau.nn.functional


def windows(x, kernel, stride, padding, fill):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_max_and_avg(kernel, stride, padding, dtype):
    x = (100 * np.random.RandomState(0).randn(2, 3, 9, 10)).astype(dtype)
    t = flambeau.from_numpy(x)
    low = -(10**9)
    expected = windows(x, kernel, stride, padding, low).max((-1, -2))
    out, at = F.max_pool2d(t, kernel, stride, padding, return_indices=True)
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(
        t.flatten(2).gather(2, at.flatten(2)).numpy(), out.flatten(2).numpy()
    )
    if dtype != "int64":
        mean = windows(x, kernel, stride, padding, 0).mean((-1, -2))
        np.testing.assert_allclose(
            F.avg_pool2d(t, kernel, stride, padding).numpy(), mean, rtol=1e-4
        )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients(n):
    x = flambeau.from_numpy(np.random.RandomState(0).randn(2, 2, *[6] * n)).requires_grad_()
    calls = [
        lambda t: getattr(F, f"max_pool{n}d")(t, 2),
        lambda t: getattr(F, f"avg_pool{n}d")(t, 3, 2, 1),
        lambda t: getattr(F, f"avg_pool{n}d")(t, 3, 2, 1, True, False),
        lambda t: getattr(F, f"adaptive_avg_pool{n}d")(t, 4),
        lambda t: getattr(F, f"adaptive_max_pool{n}d")(t, 2),
    ]
    for call in calls:
        assert gradcheck(call, (x,), fast_mode=True)
        assert gradgradcheck(call, (x,), fast_mode=True)


def test_ceil_mode_dilation_and_unbatched():
    x = flambeau.arange(7.0).reshape(1, 7)
    assert F.max_pool1d(x, 2, 2, ceil_mode=True).tolist() == [[1, 3, 5, 6]]
    assert F.max_pool1d(x, 3, 1, dilation=2).tolist() == [[4, 5, 6]]
    assert F.avg_pool1d(x, 2, 2, ceil_mode=True).tolist() == [[0.5, 2.5, 4.5, 6]]
    assert F.adaptive_avg_pool1d(x, 1).tolist() == [[3]]


def test_nan_wins():
    x = flambeau.tensor([[1.0, float("nan"), 2.0, 3.0]])
    assert F.max_pool1d(x, 2).isnan().tolist() == [[True, False]]


def test_errors():
    x = flambeau.ones(1, 2, 4, 4)
    with pytest.raises(RuntimeError, match="pad should be at most half of effective kernel size"):
        F.max_pool2d(x, 2, 2, 2)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.avg_pool2d(x, 5)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(RuntimeError, match="input tensor, but got"):
        F.max_pool2d(flambeau.ones(4), 2)


@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d"])
def test_windows_larger_than_the_input_are_refused(pool):
    for ceil_mode in (False, True):
        with pytest.raises(RuntimeError, match="Output size is too small"):
            getattr(flambeau.nn.functional, pool)(
                flambeau.ones(1, 1, 1, 4), 3, 2, ceil_mode=ceil_mode
            )


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.bfloat16, flambeau.float64])
def test_planes_without_elements(dtype):
    """Public functions refuse them; the operator beneath must not divide by their size."""
    x = flambeau.ones(2, 4, 0, 2, 4, dtype=dtype)
    y = flambeau._C.ops._adaptive_avg_pool(x, [1, 1, 1])
    assert y.shape == (2, 4, 1, 1, 1) and y.tolist() == [[[[[0.0]]]] * 4] * 2
    assert flambeau._C.ops._adaptive_avg_pool(x, [1, 2, 2]).sum().item() == 0.0
