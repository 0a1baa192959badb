"""Resizing, borders, grids, sliding blocks and bags against NumPy, and their derivatives."""

import functools

import numpy as np
import pytest

import flambeau
from flambeau.autograd import grad, gradcheck, gradgradcheck

F = flambeau.nn.functional
RESIZES = [
    ("nearest", 1),
    ("nearest-exact", 2),
    ("linear", 1),
    ("bilinear", 2),
    ("bicubic", 2),
    ("trilinear", 3),
]


def random(*shape, dtype="float64", seed=0):
    return flambeau.from_numpy(np.random.RandomState(seed).randn(*shape).astype(dtype))


def matrix(mode, old, new, scale):
    """The weights of one dimension: (new, old)."""
    m = np.zeros((new, old))
    for i in range(new):
        if mode.startswith("nearest"):
            at = int(np.floor(np.float32(i + 0.5 * (mode != "nearest")) * np.float32(scale)))
            m[i, min(at, old - 1)] += 1
            continue
        at = (i + 0.5) * scale - 0.5
        if mode == "bicubic":
            base, a = int(np.floor(at)), -0.75
            for k in (-1, 0, 1, 2):
                d = abs(at - base - k)
                near, far = ((a + 2) * d - (a + 3)) * d * d + 1, a * (((d - 5) * d + 8) * d - 4)
                m[i, min(max(base + k, 0), old - 1)] += near if d <= 1 else far
        else:
            at = max(at, 0)
            base = min(int(at), old - 1)
            t = min(at - base, 1)
            m[i, base] += 1 - t
            m[i, min(base + 1, old - 1)] += t
    return m


@pytest.mark.parametrize("mode, rank", RESIZES)
@pytest.mark.parametrize("sizes", [(1, 2), (33, 66), (40, 20), (37, 50), (50, 17), (5, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_resize(mode, rank, sizes, dtype):
    old, new = sizes
    shape = (2, 1, *((3, 4)[: rank - 1]), old)
    x = random(*shape, dtype=dtype).requires_grad_()
    target = [*((7, 2)[: rank - 1]), new]
    y = F.interpolate(x, size=target, mode=mode)
    g = random(*y.shape, dtype=dtype, seed=1)
    expected, back = x.detach().numpy(), g.numpy()
    for d, (a, b) in enumerate(zip(shape[2:], target)):
        m = matrix(mode, a, b, a / b)
        expected = np.moveaxis(np.tensordot(m, expected, (1, 2 + d)), 0, 2 + d)
        back = np.moveaxis(np.tensordot(m.T, back, (1, 2 + d)), 0, 2 + d)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"atol": 1e-12}
    np.testing.assert_allclose(y.detach().numpy(), expected, **tolerance)
    np.testing.assert_allclose(grad(y, x, g)[0].numpy(), back, **tolerance)


@pytest.mark.parametrize("mode, rank", RESIZES)
def test_resize_derivatives(mode, rank):
    x = random(1, 2, *(4,) * rank).requires_grad_()
    for options in ({"scale_factor": 2}, {"scale_factor": 1.4}, {"size": 3}):
        call = functools.partial(F.interpolate, mode=mode, **options)
        assert gradcheck(call, (x,), fast_mode=True)
        assert gradgradcheck(call, (x,), fast_mode=True)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(2, 1), (1, 0, 3, 2), (-1, 2, 1, -2), (4, 4, 4, 4), (1, 2) * 3])
def test_borders(mode, pad):
    numpy_mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    x = random(2, 5, 6, 7).requires_grad_()
    y = F.pad(x[0] if len(pad) == 2 else x, pad, mode)
    pairs = [(max(pad[2 * i], 0), max(pad[2 * i + 1], 0)) for i in range(len(pad) // 2)]
    cuts = [(max(-pad[2 * i], 0), max(-pad[2 * i + 1], 0)) for i in range(len(pad) // 2)]
    base = x.detach().numpy()[0] if len(pad) == 2 else x.detach().numpy()
    if min(pad) >= 0:
        widths = [(0, 0)] * (base.ndim - len(pairs)) + pairs[::-1]
        np.testing.assert_array_equal(y.detach().numpy(), np.pad(base, widths, numpy_mode))
    assert y.shape[-1] == 7 + pad[0] + pad[1] and len(cuts) == len(pairs)
    assert gradcheck(lambda t: F.pad(t, pad, mode), (x,), fast_mode=True)
    assert gradgradcheck(lambda t: F.pad(t, pad, mode), (x,), fast_mode=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_of_many_points(mode):
    """Blocks of points and their rest: points are independent of each other."""
    image, grid = random(1, 3, 9, 8), random(1, 1, 600, 2)
    whole = F.grid_sample(image, grid, mode, align_corners=False)
    parts = [F.grid_sample(image, g, mode, align_corners=False) for g in grid.split(7, 2)]
    assert flambeau.equal(whole, flambeau.cat(parts, 3))


def test_grid_positions_that_are_not_numbers():
    nan, inf = float("nan"), float("inf")
    image = flambeau.ones(1, 2, 3, 3)
    grid = flambeau.tensor([[[[nan, 0.0], [0.0, inf], [1e20, 0.0], [0.0, 0.0]]]])
    out = F.grid_sample(image, grid, align_corners=False)[0, 0, 0].tolist()
    assert out[2:] == [0, 1] and np.isnan(out[:2]).all()
    assert F.grid_sample(image, grid, "nearest", align_corners=False)[0, 1, 0].tolist() == [
        0,
        0,
        0,
        1,
    ]


def test_one_element_and_no_batch():
    one = random(1, 1, 1, 1)
    for mode in ("nearest", "bilinear", "bicubic"):
        assert (F.interpolate(one, size=(3, 2), mode=mode) - one).abs().max() < 1e-12
        assert F.interpolate(flambeau.zeros(0, 2, 3, 3), scale_factor=2, mode=mode).shape[2:] == (
            6,
            6,
        )
    assert F.pad(flambeau.zeros(0, 2, 3, 3), (1, 1), "reflect").shape == (0, 2, 3, 5)
    assert F.avg_pool2d(flambeau.zeros(0, 2, 4, 4), 2).shape == (0, 2, 2, 2)
    assert F.adaptive_avg_pool2d(one, 3).shape == (1, 1, 3, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=1.5),
        lambda x: F.pad(x, (1, 2, 2, 1), "reflect"),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.adaptive_avg_pool2d(x, 3),
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.unfold(x, 3, padding=1, stride=2),
    ],
)
def test_layouts_and_threads(call):
    """Other strides, other dtypes and more threads change no value."""
    x = random(2, 16, 33, 29, dtype="float32").requires_grad_()
    y = call(x)
    g = random(*y.shape, dtype="float32", seed=1)
    back = grad(y, x, g)[0]
    for other in (
        x.detach().to(memory_format=flambeau.channels_last),
        x.detach().permute(3, 2, 0, 1).contiguous().permute(2, 3, 1, 0),
    ):
        other.requires_grad_()
        z = call(other)
        assert flambeau.equal(y, z) and flambeau.equal(back, grad(z, other, g)[0])
    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        alone = call(x)
        assert flambeau.equal(y, alone) and flambeau.equal(back, grad(alone, x, g)[0])
    finally:
        flambeau.set_num_threads(threads)
    low = call(x.detach().bfloat16())
    assert low.dtype == flambeau.bfloat16
    assert (low.float() - call(x.detach().bfloat16().float())).abs().max() < 0.02
    meta = call(flambeau.empty(x.shape, device="meta"))
    assert meta.shape == y.shape and meta.is_meta


def test_numbers_that_are_not_finite_stay_where_they_are():
    x = flambeau.zeros(1, 1, 8, 8)
    x[0, 0, 0, 0] = float("nan")
    for call in (
        lambda t: F.interpolate(t, scale_factor=2, mode="bilinear"),
        lambda t: F.interpolate(t, scale_factor=2),
        lambda t: F.avg_pool2d(t, 3, 1, 1),
        lambda t: F.pad(t, (1, 1, 1, 1), "replicate"),
    ):
        bad = flambeau.isnan(call(x))[0, 0]
        assert bool(bad[0, 0]) and not bool(bad[4:, :].any()) and not bool(bad[:, 4:].any())


@pytest.mark.parametrize("options", [{}, {"padding": (1, 2)}, {"stride": 2, "dilation": (2, 1)}])
def test_blocks(options):
    x = random(2, 2, 7, 8).requires_grad_()
    ones = F.fold(F.unfold(flambeau.ones(1, 1, 7, 8), 3, **options), (7, 8), 3, **options)
    back = F.fold(F.unfold(x, 3, **options), (7, 8), 3, **options)
    np.testing.assert_allclose(back.detach().numpy(), (x * ones).detach().numpy())
    assert gradcheck(lambda t: F.unfold(t, 3, **options), (x,), fast_mode=True)
    assert gradgradcheck(lambda t: F.unfold(t, 3, **options), (x,), fast_mode=True)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode):
    table = random(6, 70).requires_grad_()
    at = flambeau.tensor([0, 5, 5, 2, 3, 1, 0])
    out = F.embedding_bag(at, table, flambeau.tensor([0, 3, 3, 4]), mode=mode, padding_idx=2)
    rows = table.detach().numpy()
    combine = np.sum if mode == "sum" else np.mean
    expected = [combine(rows[[0, 5, 5]], 0), 0 * rows[0], 0 * rows[0], combine(rows[[3, 1, 0]], 0)]
    np.testing.assert_allclose(out.detach().numpy(), np.stack(expected))
    factors = random(7, seed=2).requires_grad_() if mode == "sum" else None
    leaves = (table,) if factors is None else (table, factors)

    def bags(t, p=None):
        offsets = flambeau.tensor([0, 3, 3, 4])
        return F.embedding_bag(at, t, offsets, mode=mode, padding_idx=2, per_sample_weights=p)

    assert gradcheck(bags, leaves, fast_mode=True)
    assert gradgradcheck(bags, leaves, fast_mode=True)


@pytest.mark.parametrize("value, border", [("nan", 0.0), ("inf", 15.0), ("-inf", 0.0)])
def test_grid_positions_that_are_not_finite(value, border):
    """PyTorch 2.13's: clipping brings NaN to 0, and a reflected infinity too."""
    x = flambeau.arange(16.0).reshape(1, 1, 4, 4)
    grid = flambeau.full((1, 1, 1, 2), float(value))
    for mode in ("bilinear", "nearest"):
        for padding, expected in (("border", border), ("reflection", 0.0)):
            got = flambeau.nn.functional.grid_sample(x, grid, mode, padding, False)
            assert got.item() == expected
