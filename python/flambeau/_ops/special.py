"""Special functions: Bessel, Airy, zeta, incomplete gamma, normal distribution, polynomials.

Only what arith.py does not have. Everything here is computed in double, also for float.
"""

from __future__ import annotations

from .samples import T, unary
from .table import decomp, native, op, pointwise


def special(name, expression, doc, *, grad=None, low=-3.0, high=3.0, ref="", alias="", forms="out"):
    """A function of one argument that is public as ``special.name`` (and as itself with `forms`)."""
    base = name if "function" in forms else f"special_{name}"
    op(
        f"{base}(Tensor self) -> Tensor",
        kernel=pointwise(expression),
        dtype="float",
        on="f",
        grad={"self": grad} if grad else {},
        samples=unary(low, high),
        ref=ref or f"scipy.special.{name}(self)",
        forms=forms,
        alias=f"special.{name} {alias}".strip(),
        tags="cost:120",
        doc=doc,
    )


# ---- modified Bessel functions -------------------------------------------------------------------
special(
    "i0",
    "bessel_i0(x)",
    "Modified Bessel function of the first kind of order 0.",
    grad="grad * special_i1(self)",
    forms="function method inplace function_ out",
)
special(
    "i0e",
    "bessel_i0e(x)",
    "``i0(input) * exp(-abs(input))``, which does not overflow.",
    grad="grad * (special_i1e(self) - sgn(self) * result)",
)
special(
    "i1",
    "bessel_i1(x)",
    "Modified Bessel function of the first kind of order 1.",
    grad="i1_grad(grad, self, result)",
)
special(
    "i1e",
    "bessel_i1e(x)",
    "``i1(input) * exp(-abs(input))``, which does not overflow.",
    grad="i1e_grad(grad, self, result)",
)
for _n in (0, 1):
    special(
        f"modified_bessel_i{_n}",
        f"bessel_i{_n}(x)",
        f"Modified Bessel function of the first kind of order {_n}.",
        ref=f"scipy.special.i{_n}(self)",
    )
    special(
        f"modified_bessel_k{_n}",
        f"bessel_k{_n}(x)",
        f"Modified Bessel function of the second kind of order {_n}; NaN below zero.",
        low=0.1,
        ref=f"scipy.special.k{_n}(self)",
    )
    special(
        f"scaled_modified_bessel_k{_n}",
        f"bessel_k{_n}e(x)",
        f"``modified_bessel_k{_n}(input) * exp(input)``, which does not underflow.",
        low=0.1,
        ref=f"scipy.special.k{_n}e(self)",
    )

# ---- Bessel and Airy functions -------------------------------------------------------------------
for _n in (0, 1):
    special(
        f"bessel_j{_n}",
        f"bessel_j{_n}(x)",
        f"Bessel function of the first kind of order {_n}.",
        low=-20.0,
        high=20.0,
        ref=f"scipy.special.j{_n}(self)",
    )
    special(
        f"bessel_y{_n}",
        f"bessel_y{_n}(x)",
        f"Bessel function of the second kind of order {_n}; NaN below zero.",
        low=0.1,
        high=20.0,
        ref=f"scipy.special.y{_n}(self)",
    )
special(
    "spherical_bessel_j0",
    "spherical_bessel_j0(x)",
    "Spherical Bessel function of the first kind of order 0: ``sin(x) / x``.",
    ref="numpy.sinc(self / numpy.pi)",
)
special(
    "airy_ai",
    "airy_ai(x)",
    "The Airy function Ai.",
    low=-9.0,
    ref="scipy.special.airy(numpy.asarray(self, dtype=float))[0]",
)

# ---- normal distribution, entropy ----------------------------------------------------------------
special(
    "erfcx",
    "erfcx(x)",
    "``exp(input ** 2) * erfc(input)``, which does not underflow.",
    grad="grad * (self * result * 2 - 1.12837916709551257390)",
)
special(
    "ndtr",
    "ndtr(x)",
    "Distribution function of the standard normal distribution.",
    grad="grad * exp(self * self * (-0.5)) * 0.398942280401432677940",
)
special(
    "log_ndtr",
    "log_normal_cdf(x)",
    "Logarithm of `special.ndtr`, exact in both tails.",
    grad="grad * 0.797884560802865355880 / special_erfcx(self * (-0.70710678118654752440))",
)
special(
    "ndtri",
    "normal_quantile(x)",
    "Inverse of `special.ndtr`.",
    grad="grad * exp(result * result * 0.5) * 2.50662827463100050242",
    low=0.01,
    high=0.99,
)
special(
    "entr",
    "entr(x)",
    "``-input * log(input)``, 0 at zero and minus infinity below.",
    grad="grad * (-log(self) - 1)",
    low=0.2,
)
op(
    "special_xlog1py(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("xlog1py(x, y)"),
    dtype="float",
    on="f",
    grad={"self": "grad * masked_log1p(self, other)", "other": "-grad * self / (-1 - other)"},
    samples=[
        (T(3), T(3, low=-0.7)),
        (T(2, 1), T(1, 3, low=-0.7)),
        (T(), T(2, low=-0.7)),
        (T(3), 2),
    ],
    ref="scipy.special.xlog1py(self, other)",
    forms="out",
    alias="special.xlog1py",
    doc="``input * log1p(other)``, zero where ``input`` is zero.",
    tags="number_then_tensor",
)
op(
    "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    kernel=decomp("special_xlog1py(as_tensor_like(self, other), other)"),
    forms="out",
)

# ---- zeta and gamma functions --------------------------------------------------------------------
op(
    "special_zeta(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("zeta(x, y)"),
    dtype="float",
    on="f",
    grad={
        "self": 'no_derivative("zeta", grad)',
        "other": "grad * (-self) * special_zeta(self + 1, other)",
    },
    samples=[
        (T(3, low=2, high=9, integers=True), T(3, low=0.5)),
        (T(2, 1, low=2, high=9, integers=True), T(1, 3, low=0.5, high=30)),
        (T(low=2, high=9, integers=True), 2.5),
    ],
    ref="scipy.special.zeta(self, other)",
    forms="out",
    alias="special.zeta",
    tags="number_then_tensor cost:250",
    doc="Hurwitz zeta function: the sum of ``(other + k) ** -input`` over k from 0.",
)
op(
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    kernel=decomp("special_zeta(as_tensor_like(self, other), other)"),
    samples=[(3, T(4, low=0.5))],
    ref="scipy.special.zeta(self, other)",
    forms="out",
)
op(
    "polygamma(int n, Tensor self) -> Tensor",
    kernel=decomp("polygamma_of(n, self)"),
    samples=[(n, T(4, low=0.4)) for n in (0, 1, 2, 5)] + [(1, T()), (2, T(0, 2))],
    ref="scipy.special.polygamma(n, self)",
    forms="function out",
    alias="special.polygamma",
    doc="The n-th derivative of `digamma`.",
)
op(
    "polygamma.method(Tensor self, int n) -> Tensor",
    kernel=decomp("polygamma_of(n, self)"),
    forms="method inplace",
)
op(
    "_polygamma(Tensor self, Scalar n) -> Tensor",
    kernel=pointwise("polygamma(x, n)"),
    dtype="float",
    on="f",
    grad={"self": "grad * polygamma_next(self, n)"},
    forms="",
    tags="internal cost:250",
)
op(
    "mvlgamma(Tensor self, int p) -> Tensor",
    kernel=native,
    grad={"self": "mvlgamma_grad(grad, self, p)"},
    samples=[(T(3, low=2), 3), (T(2, 2, low=1), 1), (T(low=2), 2), (T(0, 2), 2)],
    errors=[((T(2), 0), RuntimeError, "p has to be greater than or equal to 1")],
    ref="scipy.special.gammaln(numpy.asarray(self)[..., None] - numpy.arange(p) / 2).sum(-1)"
    " + p * (p - 1) / 4 * numpy.log(numpy.pi)",
    forms="function method inplace out",
    alias="special.multigammaln",
    doc="Logarithm of the multivariate gamma function of dimension p.",
)
for _name, _expression, _ref, _alias, _text in (
    ("igamma", "igamma(x, y)", "gammainc", "gammainc", "lower"),
    ("igammac", "igammac(x, y)", "gammaincc", "gammaincc", "upper"),
):
    _slope = "exp((self - 1) * log(other) - other - lgamma(self))"
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        kernel=pointwise(_expression),
        on="f",
        grad={
            "self": f'no_derivative("{_name}: input", grad)',
            "other": f"{'-' if _name == 'igammac' else ''}grad * {_slope}",
        },
        samples=[
            (T(3, low=1, high=6, integers=True), T(3, low=0.5, high=8)),
            (T(2, 1, low=1, high=6, integers=True), T(1, 3, low=0.5, high=8)),
        ],
        ref=f"scipy.special.{_ref}(self, other)",
        forms="function method inplace out",
        alias=f"special.{_alias}",
        tags="cost:250",
        doc=f"Regularized {_text} incomplete gamma function of ``input`` at ``other``.",
    )

# ---- orthogonal polynomials ----------------------------------------------------------------------
_HALF_ANGLE = {  # the third and fourth kind through the second
    "v": "scipy.special.eval_chebyu(n, x) - scipy.special.eval_chebyu(n - 1, x)",
    "w": "scipy.special.eval_chebyu(n, x) + scipy.special.eval_chebyu(n - 1, x)",
}


def polynomial(name, expression, text, ref):
    """A polynomial whose degree is the second argument."""
    for overload, args in (("", "Tensor self, Operand n"), (".x_scalar", "Scalar self, Tensor n")):
        op(
            f"special_{name}{overload}({args}) -> Tensor",
            kernel=decomp(f"special_{name}(as_tensor_like(self, n), n)")
            if overload
            else pointwise(expression),
            dtype="float",
            on="f",
            samples=[(0.25, T(4, low=0, high=12))]
            if overload
            else [
                (T(4, low=-1.5, high=1.5), T(4, low=0, high=5)),
                (T(2, 1, low=-1, high=1), T(1, 3, low=6, high=12)),
                (T(3), 3),
                (T(0, 2), 2),
            ],
            ref=f"(lambda x, n: {ref})(numpy.asarray(self, dtype=float), numpy.trunc(n).astype(int))",
            forms="out",
            alias=f"special.{name}",
            tags="number_then_tensor cost:200",
            doc="" if overload else text + ", of degree ``n`` (cut to an integer) at ``input``.",
        )


for _kind, _nth in (("t", "first"), ("u", "second"), ("v", "third"), ("w", "fourth")):
    _ref = _HALF_ANGLE.get(_kind, f"scipy.special.eval_cheby{_kind}(n, x)")
    polynomial(
        f"chebyshev_polynomial_{_kind}",
        f"chebyshev_{_kind}(x, y)",
        f"Chebyshev polynomial of the {_nth} kind",
        _ref,
    )
    polynomial(
        f"shifted_chebyshev_polynomial_{_kind}",
        f"shifted_chebyshev_{_kind}(x, y)",
        f"Chebyshev polynomial of the {_nth} kind at ``2 * input - 1``",
        f"(lambda x: {_ref})(2 * x - 1)",
    )
polynomial(
    "hermite_polynomial_h",
    "hermite_h(x, y)",
    "Hermite polynomial of the physicists",
    "scipy.special.eval_hermite(n, x)",
)
polynomial(
    "hermite_polynomial_he",
    "hermite_he(x, y)",
    "Hermite polynomial of the probabilists",
    "scipy.special.eval_hermitenorm(n, x)",
)
polynomial(
    "laguerre_polynomial_l",
    "laguerre_l(x, y)",
    "Laguerre polynomial",
    "scipy.special.eval_laguerre(n, x)",
)
polynomial(
    "legendre_polynomial_p",
    "legendre_p(x, y)",
    "Legendre polynomial",
    "scipy.special.eval_legendre(n, x)",
)

# ---- mantissa and exponent -----------------------------------------------------------------------
op(
    "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    kernel=native,
    grad={"self": "frexp_grad(grads[0], results[1])"},
    samples=unary(),
    ref="numpy.frexp(self)",
    forms="function method out",
    doc="``mantissa * 2 ** exponent`` with a mantissa in [0.5, 1) and an int32 exponent.",
)
op(
    "_frexp_mantissa(Tensor self) -> Tensor",
    kernel=pointwise("frexp_mantissa(x)"),
    on="f",
    forms="",
    tags="internal",
)
op(
    "_frexp_exponent(Tensor self) -> Tensor",
    kernel=pointwise("frexp_exponent(x)"),
    on="f",
    forms="",
    tags="internal",
)
op(
    "ldexp(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("scaled_by_power(x, y)"),
    dtype="float",
    on="fc",
    grad={
        "self": "grad * conj(exp2(other))",
        "other": "grad * conj(result * 0.69314718055994530942)",
    },
    samples=[(T(3), T(3)), (T(2, 1), T(1, 3)), (T(), T(2, 2)), (T(0, 2), T(2))],
    ref="self * numpy.exp2(other)",
    forms="function method inplace function_ out",
    doc="``input * 2 ** other``.",
)
