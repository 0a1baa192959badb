"""Special functions: refusals, degrees, integers; sampling on a grid."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck


def test_namespace_is_complete():
    names = """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t
        chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc
        erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln hermite_polynomial_h
        hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p
        log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round
        scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t
        shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta
        """.split()
    assert [n for n in names if n not in flambeau.special.__all__] == []


@pytest.mark.parametrize(
    "name, message",
    [
        ("special.zeta", "the derivative for 'zeta'"),
        ("igamma", "the derivative for 'igamma: input'"),
    ],
)
def test_no_derivative(name, message):
    function = flambeau.special.zeta if name == "special.zeta" else flambeau.igamma
    x = flambeau.tensor([2.5], requires_grad=True)
    result = function(x, flambeau.tensor([1.5]))
    with pytest.raises(NotImplementedError, match=message):
        result.backward()


def test_polygamma_refuses_negative_orders():
    with pytest.raises(RuntimeError, match="does not support negative n"):
        flambeau.polygamma(-1, flambeau.ones(2))


def test_polygamma_forms():
    x = flambeau.tensor([0.5, 2.0])
    want = flambeau.polygamma(2, x)
    assert flambeau.equal(x.polygamma(2), want)
    assert x.polygamma_(2) is x and flambeau.equal(x, want)


def test_igamma_refuses_integers():
    with pytest.raises(NotImplementedError, match="igamma"):
        flambeau.igamma(flambeau.tensor([1]), flambeau.tensor([2]))


def test_degrees():
    x = flambeau.tensor([0.3, 2.0])
    t = flambeau.special.chebyshev_polynomial_t
    assert t(x, -1).tolist() == [0.0, 0.0]
    assert t(x, 2.9).tolist() == t(x, 2).tolist()
    assert t(2, flambeau.tensor([0, 1, 3])).tolist() == [1.0, 2.0, 26.0]
    assert t(x, math.nan).tolist() == [0.0, 0.0]


def test_huge_arguments_end():
    """Loops over the elements' values stay bounded."""
    big = flambeau.tensor([-4503599627370495.5, 1e300], dtype=flambeau.float64)
    assert flambeau.isfinite(flambeau.polygamma(3, big)).all()
    degree = flambeau.tensor([1e18], dtype=flambeau.float64)
    half = flambeau.tensor([0.5], dtype=flambeau.float64)
    for name in flambeau.special.__all__:
        if "polynomial" in name:
            getattr(flambeau.special, name)(half, degree)
    near = flambeau.tensor([1 + 2.0**-52, -1 - 2.0**-50], dtype=flambeau.float64)
    for kind in "tuvw":
        polynomial = getattr(flambeau.special, "chebyshev_polynomial_" + kind)
        assert polynomial(near, degree).isinf().all()
        # The closed form and the recurrence agree on both sides of the change.
        x = flambeau.tensor([1.001, -1.0005], dtype=flambeau.float64)
        low, middle, high = (polynomial(x, n) for n in (999, 1000, 1001))
        assert flambeau.allclose(high, 2 * x * middle - low, rtol=1e-10)
    a = flambeau.tensor([1e15, 999999.0], dtype=flambeau.float64)
    assert ((flambeau.igamma(a, a) - 0.5).abs() < 1e-3).all()


def test_frexp_and_ldexp_are_inverse():
    x = flambeau.tensor([3.0, -0.0, 1e-45, -1e38, math.inf, -5e-39])
    mantissa, exponent = flambeau.frexp(x)
    assert exponent.dtype == flambeau.int32
    assert exponent.tolist() == [2, 0, -148, 127, 0, -127]
    assert flambeau.equal(flambeau.ldexp(mantissa, exponent), x)
    with pytest.raises(RuntimeError, match="only supports floating-point"):
        flambeau.frexp(flambeau.tensor([1]))


# ---- sampling on a grid --------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sampler_derivatives(ndim, mode, padding, corners):
    if mode == 2 and ndim == 3:
        pytest.skip("bicubic is for images of two dimensions")
    flambeau.manual_seed(0)
    image = flambeau.randn(1, 2, *[3] * ndim, dtype=flambeau.float64, requires_grad=True)
    grid = (
        flambeau.rand(1, *[2] * ndim, ndim, dtype=flambeau.float64) * 2.4 - 1.2
    ).requires_grad_()
    sampler = flambeau.grid_sampler_2d if ndim == 2 else flambeau.grid_sampler_3d
    arguments = mode, padding, corners
    assert gradcheck(lambda i, g: sampler(i, g, *arguments), (image, grid))
    assert gradgradcheck(lambda i, g: sampler(i, g, *arguments), (image, grid))
    names = ("bilinear", "nearest", "bicubic")[mode], ("zeros", "border", "reflection")[padding]
    other = flambeau.nn.functional.grid_sample(image, grid, *names, corners)
    assert flambeau.equal(other, sampler(image, grid, *arguments))


def test_identity_grid():
    image = flambeau.arange(12.0).reshape(1, 1, 3, 4)
    grid = flambeau.affine_grid_generator(flambeau.eye(2, 3)[None], [1, 1, 3, 4], True)
    assert flambeau.allclose(flambeau.grid_sampler(image, grid, 0, 0, True), image)


@pytest.mark.parametrize(
    "image, grid, mode, message",
    [
        ((1, 1, 3, 3), (2, 2, 2, 2), 0, "same batch size"),
        ((1, 1, 3, 3), (1, 2, 2, 3), 0, "size 2 in last dimension"),
        ((1, 1, 0, 3), (1, 2, 2, 2), 0, "non-empty spatial dimensions"),
        ((1, 3, 3), (1, 2, 2, 2), 0, "same number of dimensions"),
        ((1, 1, 3, 3, 3), (1, 2, 2, 2, 3), 2, "bicubic interpolation only supports 4D"),
        ((1, 1, 3, 3), (1, 2, 2, 2), 3, "interpolation mode of 0, 1 or 2"),
    ],
)
def test_grid_sampler_refuses(image, grid, mode, message):
    with pytest.raises(RuntimeError, match=message):
        flambeau.grid_sampler(flambeau.ones(image), flambeau.zeros(grid), mode, 0, False)
