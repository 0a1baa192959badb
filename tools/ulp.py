"""Errors of the pointwise functions in units of the last place (ULP), against mpmath.

    python tools/ulp.py                      measures, and writes docs/accuracy.md
    python tools/ulp.py exp special.i0       measures these only, and prints
    python tools/ulp.py --store              writes tests/ops/data/accuracy.npz for the tests

An error is |computed - exact| in units of the last place of the exact value rounded to the dtype
(below the normal range: of the smallest normal number). Needs mpmath, except to run the tests.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "ops" / "data" / "accuracy.npz"
MAX = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
TINY = {"float32": 2.0**-126, "float64": 2.0**-1022}
DIGITS = {"float32": 24, "float64": 53}
# Klambauer et al. 2017, "Self-normalizing neural networks"
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# name -> (exact function of x over mpmath, intervals of arguments). An interval that spans
# magnitudes is sampled evenly in the exponent, any other evenly. A function of x, y (and z) has a
# tuple of intervals, one for each, in place of an interval.
# Beyond the zeros, degrees 3 and 7
POLYNOMIAL = [((1.1, 3.0), (3.0, 3.0)), ((1.1, 3.0), (7.0, 7.0))]
FUNCTIONS = {
    "exp": ("mp.exp(x)", [(-103.0, 88.7), (-1e-3, 1e-3)]),
    "exp2": ("mp.power(2, x)", [(-149.0, 127.9), (-1e-3, 1e-3)]),
    "expm1": ("mp.expm1(x)", [(-100.0, 88.7), (-1.0, 1.0), (1e-30, 1.0)]),
    "log": ("mp.log(x)", [(1e-45, 3e38), (0.5, 2.0)]),
    "log2": ("mp.log(x) / mp.log(2)", [(1e-45, 3e38), (0.5, 2.0)]),
    "log10": ("mp.log(x) / mp.log(10)", [(1e-45, 3e38), (0.5, 2.0)]),
    "log1p": ("mp.log1p(x)", [(1e-30, 3e38), (-0.999, 1.0), (-1e-3, 1e-3)]),
    "sqrt": ("mp.sqrt(x)", [(1e-45, 3e38)]),
    "rsqrt": ("1 / mp.sqrt(x)", [(1e-45, 3e38)]),
    "reciprocal": ("1 / x", [(1e-38, 8e37)]),
    "sin": ("mp.sin(x)", [(-10.0, 10.0), (1e-20, 1e30)]),
    "cos": ("mp.cos(x)", [(-10.0, 10.0), (1e-20, 1e30)]),
    "tan": ("mp.tan(x)", [(-10.0, 10.0), (1e-20, 1e30)]),
    "sinh": ("mp.sinh(x)", [(-88.0, 88.0), (1e-20, 1.0)]),
    "cosh": ("mp.cosh(x)", [(-88.0, 88.0), (-1.0, 1.0)]),
    "tanh": ("mp.tanh(x)", [(-12.0, 12.0), (1e-20, 1.0)]),
    "asin": ("mp.asin(x)", [(-1.0, 1.0), (1e-20, 1.0)]),
    "acos": ("mp.acos(x)", [(-1.0, 1.0), (1e-20, 1.0)]),
    "atan": ("mp.atan(x)", [(-10.0, 10.0), (1e-20, 1e30)]),
    "asinh": ("mp.asinh(x)", [(-10.0, 10.0), (1e-20, 3e38)]),
    "acosh": ("mp.acosh(x)", [(1.0, 2.0), (1.0, 3e38)]),
    "atanh": ("mp.atanh(x)", [(-0.999999, 0.999999), (1e-20, 0.999)]),
    "erf": ("mp.erf(x)", [(-4.0, 4.0), (1e-20, 5.0)]),
    "erfc": ("mp.erfc(x)", [(-4.0, 9.0), (1e-20, 1.0)]),
    "erfinv": ("mp.erfinv(x)", [(-0.99, 0.99), (1e-20, 0.999999)]),
    "sigmoid": ("1 / (1 + mp.exp(-x))", [(-87.0, 20.0), (-1.0, 1.0)]),
    "lgamma": ("mp.log(abs(mp.gamma(x)))", [(1e-30, 0.9), (2.1, 1e30), (2.5, 30.0)]),
    "digamma": ("mp.digamma(x)", [(1e-30, 1.3), (1.6, 1e30)]),
    "sinc": ("mp.sinc(mp.pi * x)", [(-0.9, 0.9), (1e-20, 0.9)]),
    "i0": ("mp.besseli(0, x)", [(-85.0, 85.0), (1e-20, 1.0)]),
    "special.i0e": ("mp.besseli(0, x) * mp.exp(-abs(x))", [(-20.0, 20.0), (1e-20, 1e10)]),
    "special.i1": ("mp.besseli(1, x)", [(-85.0, 85.0), (1e-20, 1.0)]),
    "special.i1e": ("mp.besseli(1, x) * mp.exp(-abs(x))", [(-20.0, 20.0), (1e-20, 1e10)]),
    "special.modified_bessel_k0": ("mp.besselk(0, x)", [(1e-30, 85.0), (0.5, 5.0)]),
    "special.modified_bessel_k1": ("mp.besselk(1, x)", [(1e-30, 85.0), (0.5, 5.0)]),
    "special.scaled_modified_bessel_k0": (
        "mp.besselk(0, x) * mp.exp(x)",
        [(1e-30, 1e5), (0.5, 5.0)],
    ),
    "special.scaled_modified_bessel_k1": (
        "mp.besselk(1, x) * mp.exp(x)",
        [(1e-30, 1e5), (0.5, 5.0)],
    ),
    "special.bessel_j0": ("mp.besselj(0, x)", [(0.0, 8.0), (8.0, 50.0), (1e-20, 1e4)]),
    "special.bessel_j1": ("mp.besselj(1, x)", [(0.0, 8.0), (8.0, 50.0), (1e-20, 1e4)]),
    "special.bessel_y0": ("mp.bessely(0, x)", [(0.01, 8.0), (8.0, 50.0), (1e-20, 1e4)]),
    "special.bessel_y1": ("mp.bessely(1, x)", [(0.01, 8.0), (8.0, 50.0), (1e-20, 1e4)]),
    "special.spherical_bessel_j0": ("mp.sin(x) / x", [(0.01, 10.0), (1e-20, 1e10)]),
    "special.airy_ai": ("mp.airyai(x)", [(-30.0, 1.0), (1.0, 20.0)]),
    "special.erfcx": ("mp.exp(x * x) * mp.erfc(x)", [(-9.0, 20.0), (1e-20, 1e8)]),
    "special.ndtr": ("mp.erfc(-x / mp.sqrt(2)) / 2", [(-12.0, 5.0), (-1.0, 1.0)]),
    "special.log_ndtr": ("mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)", [(-100.0, 12.0), (-1.0, 1.0)]),
    "special.ndtri": ("ndtri(x)", [(0.001, 0.49), (0.51, 0.999), (1e-37, 0.1)]),
    "special.entr": ("-x * mp.log(x)", [(1e-30, 1e30), (0.0, 3.0)]),
    "trigamma": ("mp.psi(1, x)", [(1e-15, 1e15), (-5.9, 0.0)]),
    "special.expit": ("1 / (1 + mp.exp(-x))", [(-30.0, 30.0)]),
    # Activations
    "relu": ("max(x, 0)", [(-10.0, 10.0)]),
    "relu6": ("min(max(x, 0), 6)", [(-10.0, 10.0)]),
    "hardtanh": ("min(max(x, -1), 1)", [(-3.0, 3.0)]),
    "hardsigmoid": ("min(max(x + 3, 0), 6) / 6", [(-2.99, 5.0)]),
    "hardswish": ("x * min(max(x + 3, 0), 6) / 6", [(-2.99, 5.0), (1e-30, 1e30)]),
    "leaky_relu": ("x if x > 0 else x * mpf(0.01)", [(-10.0, 10.0)]),
    "elu": ("x if x > 0 else mp.expm1(x)", [(-50.0, 10.0), (-1e-3, 1e-3)]),
    "selu": (
        "S * x if x > 0 else S * A * mp.expm1(x)",
        [(-50.0, 10.0), (-1e-3, 1e-3)],
    ),
    "celu(alpha=2)": ("x if x > 0 else 2 * mp.expm1(x / 2)", [(-50.0, 10.0), (-1e-3, 1e-3)]),
    "gelu": ("x * mp.erfc(-x / mp.sqrt(2)) / 2", [(-12.0, 6.0), (-1.0, 1.0), (1e-30, 1e30)]),
    "gelu(tanh)": (
        "x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mpf(0.044715) * x**3)))",
        [(-8.0, 6.0), (-1.0, 1.0), (1e-30, 1e10)],
    ),
    "silu": ("x / (1 + mp.exp(-x))", [(-80.0, 20.0), (-1.0, 1.0), (1e-30, 1e30)]),
    "mish": (
        "x * mp.tanh(mp.log1p(mp.exp(x)))",
        [(-80.0, 30.0), (-1.0, 1.0), (1e-30, 1e30)],
    ),
    "softplus": ("mp.log1p(mp.exp(x)) if x <= 20 else x", [(-80.0, 30.0), (-1.0, 1.0)]),
    "logsigmoid": ("-mp.log1p(mp.exp(-x))", [(-80.0, 80.0), (-1.0, 1.0)]),
    "softsign": ("x / (1 + abs(x))", [(-10.0, 10.0), (1e-30, 1e30)]),
    "softshrink": (
        "x - mpf(0.5) if x > 0.5 else x + mpf(0.5) if x < -0.5 else 0",
        [(-3.0, 3.0)],
    ),
    "hardshrink": ("x if abs(x) > 0.5 else 0", [(-3.0, 3.0)]),
    "logit": ("mp.log(x / (1 - x))", [(1e-37, 0.45), (0.55, 0.99999), (0.45, 0.55)]),
    # Rounding, parts, units
    "neg": ("-x", [(-10.0, 10.0)]),
    "abs": ("abs(x)", [(-10.0, 10.0)]),
    "sign": ("mp.sign(x)", [(-10.0, 10.0)]),
    "floor": ("mp.floor(x)", [(-10.0, 10.0), (1e-30, 1e30)]),
    "ceil": ("mp.ceil(x)", [(-10.0, 10.0), (1e-30, 1e30)]),
    "trunc": ("mp.sign(x) * mp.floor(abs(x))", [(-10.0, 10.0), (1e-30, 1e30)]),
    "round": ("mp.nint(x)", [(-10.0, 10.0), (1e-30, 1e30)]),
    "frac": ("x - mp.sign(x) * mp.floor(abs(x))", [(-10.0, 10.0), (1e-30, 1e6)]),
    "square": ("x * x", [(1e-15, 1e15)]),
    "deg2rad": ("x * mp.pi / 180", [(1e-20, 1e20)]),
    "rad2deg": ("x * 180 / mp.pi", [(1e-20, 1e20)]),
    # Two and three arguments
    "add": ("x + y", [((-10.0, 10.0), (-10.0, 10.0)), ((1e-20, 1e20), (1e-20, 1e20))]),
    "sub": ("x - y", [((-10.0, 10.0), (-10.0, 10.0)), ((1e-20, 1e20), (1e-20, 1e20))]),
    "mul": ("x * y", [((1e-15, 1e15), (1e-15, 1e15))]),
    "div": ("x / y", [((1e-15, 1e15), (1e-15, 1e15))]),
    "fmod": ("x - y * mp.floor(x / y)", [((1e-3, 1e3), (1e-3, 1e3))]),
    "remainder": ("x - y * mp.floor(x / y)", [((1e-3, 1e3), (1e-3, 1e3))]),
    "floor_divide": ("mp.floor(x / y)", [((1e-3, 1e3), (1e-3, 1e3))]),
    "maximum": ("max(x, y)", [((-10.0, 10.0), (-10.0, 10.0))]),
    "minimum": ("min(x, y)", [((-10.0, 10.0), (-10.0, 10.0))]),
    "copysign": ("abs(x) * mp.sign(y)", [((-10.0, 10.0), (-10.0, 10.0))]),
    "ldexp": ("x * mp.power(2, y)", [((1e-10, 1e10), (-30.0, 30.0))]),
    "pow": (
        "mp.power(x, y)",
        [
            ((0.01, 100.0), (-18.0, 18.0)),
            ((1e-30, 1e30), (-1.2, 1.2)),
            ((0.9, 1.1), (-800.0, 800.0)),
        ],
    ),
    "atan2": ("mp.atan2(x, y)", [((-10.0, 10.0), (-10.0, 10.0)), ((1e-18, 1e18), (1e-18, 1e18))]),
    "hypot": ("mp.hypot(x, y)", [((-10.0, 10.0), (-10.0, 10.0)), ((1e-30, 1e30), (1e-30, 1e30))]),
    "xlogy": ("x * mp.log(y)", [((1e-15, 1e15), (1e-30, 1e30)), ((-3.0, 3.0), (0.5, 2.0))]),
    "special.xlog1py": (
        "x * mp.log1p(y)",
        [((1e-15, 1e15), (1e-20, 1e20)), ((-3.0, 3.0), (-0.5, 1.0))],
    ),
    "logaddexp": (
        "mp.log(mp.exp(x) + mp.exp(y))",
        [((0.0, 80.0), (0.0, 80.0)), ((1.0, 3.0), (1.0, 3.0))],
    ),
    "logaddexp2": (
        "mp.log(mp.power(2, x) + mp.power(2, y)) / mp.log(2)",
        [((0.0, 80.0), (0.0, 80.0)), ((1.0, 3.0), (1.0, 3.0))],
    ),
    "lerp": ("x + z * (y - x)", [((1.0, 10.0), (1.0, 10.0), (0.0, 1.0))]),
    "addcmul": ("x + y * z", [((0.1, 10.0), (0.1, 10.0), (0.1, 10.0))]),
    "addcdiv": ("x + y / z", [((0.1, 10.0), (0.1, 10.0), (0.1, 10.0))]),
    "special.zeta": ("mp.zeta(x, y)", [((1.1, 30.0), (0.5, 20.0))]),
    "igamma": ("mp.gammainc(x, 0, y, regularized=True)", [((0.1, 15.0), (0.1, 15.0))]),
    "igammac": ("mp.gammainc(x, y, mp.inf, regularized=True)", [((0.1, 15.0), (0.1, 15.0))]),
    "rsub": ("y - x", [((-10.0, 10.0), (-10.0, 10.0))]),
    # Polynomials, of degree y
    "special.chebyshev_polynomial_t": ("mp.chebyt(y, x)", POLYNOMIAL),
    "special.chebyshev_polynomial_u": ("mp.chebyu(y, x)", POLYNOMIAL),
    "special.chebyshev_polynomial_v": ("mp.chebyu(y, x) - mp.chebyu(y - 1, x)", POLYNOMIAL),
    "special.chebyshev_polynomial_w": ("mp.chebyu(y, x) + mp.chebyu(y - 1, x)", POLYNOMIAL),
    "special.shifted_chebyshev_polynomial_t": ("mp.chebyt(y, 2 * x - 1)", POLYNOMIAL),
    "special.shifted_chebyshev_polynomial_u": ("mp.chebyu(y, 2 * x - 1)", POLYNOMIAL),
    "special.shifted_chebyshev_polynomial_v": (
        "mp.chebyu(y, 2 * x - 1) - mp.chebyu(y - 1, 2 * x - 1)",
        POLYNOMIAL,
    ),
    "special.shifted_chebyshev_polynomial_w": (
        "mp.chebyu(y, 2 * x - 1) + mp.chebyu(y - 1, 2 * x - 1)",
        POLYNOMIAL,
    ),
    "special.hermite_polynomial_h": (
        "mp.hermite(y, x)",
        [((3.0, 6.0), (3.0, 3.0)), ((5.0, 9.0), (7.0, 7.0))],
    ),
    "special.hermite_polynomial_he": (
        "mp.power(2, -y / 2) * mp.hermite(y, x / mp.sqrt(2))",
        [((3.0, 6.0), (3.0, 3.0)), ((6.0, 9.0), (7.0, 7.0))],
    ),
    "special.laguerre_polynomial_l": (
        "mp.laguerre(y, 0, x)",
        [((-3.0, -0.1), (3.0, 3.0)), ((-3.0, -0.1), (7.0, 7.0))],
    ),
    "special.legendre_polynomial_p": ("mp.legendre(y, x)", POLYNOMIAL),
}
# How a name of the table is called where it is not simply a function of the module.
CALLS = {
    "trigamma": "fb.polygamma(1, x)",
    "celu(alpha=2)": "fb.celu(x, 2)",
    "gelu(tanh)": "fb.nn.functional.gelu(x, approximate='tanh')",
}
# These only choose, copy or compare: nothing is rounded.
EXACT = "threshold heaviside nextafter sgn fmax fmin clamp_min clamp_max conj_physical".split()
# In float32 all are held to 2 ULP but these, whose results have zeros or tails that no form in
# float32 reaches with all digits: what was measured, rounded up.
LIMIT = 2
LIMITS = {
    "float32": {"gelu": 16, "gelu(tanh)": 64},
    "float64": {
        **dict.fromkeys(("special.bessel_j0", "special.bessel_j1", "special.airy_ai"), 100),
        **dict.fromkeys(("special.bessel_y0", "special.bessel_y1"), 1000),
        **dict.fromkeys(("digamma", "special.modified_bessel_k0"), 16),
        **dict.fromkeys(("special.scaled_modified_bessel_k0", "lgamma"), 16),
        "special.laguerre_polynomial_l": 16,
        "special.chebyshev_polynomial_t": 16,
        **dict.fromkeys(("igamma", "igammac"), 256),
        "gelu(tanh)": 64,
    },
}


def as_float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def arguments(name, dtype, count):
    """`count` points of the dtype, tuples of the arguments, in each box; always the same."""
    rng = random.Random(zlib.crc32(f"{name} {dtype}".encode()))

    def draw(low, high):
        wide = low > 0 and high / low > 100
        u = rng.random()
        x = low * (high / low) ** u if wide else low + (high - low) * u
        x = as_float32(x) if dtype == "float32" else x
        return x if low <= x <= high and x else None

    points = []
    for box in FUNCTIONS[name][1]:
        for _ in range(count):
            point = tuple(draw(*interval) for interval in axes(box))
            if None not in point:
                points.append(point)
    return points


def axes(box):
    """The intervals of a box: one, or one for each argument."""
    return box if isinstance(box[0], tuple) else (box,)


def exact(name, points):
    """The values at the points as pairs of doubles whose sum is exact to 100 bits."""
    from mpmath import mp, mpf

    mp.dps = 50

    def ndtri(p):
        x = -mp.sqrt(2) * mp.erfinv(1 - 2 * p) if p > 1e-10 else -mp.sqrt(-2 * mp.log(p))
        for _ in range(50):
            phi = mp.erfc(-x / mp.sqrt(2)) / 2
            step = mp.log(phi / p) * phi * mp.sqrt(2 * mp.pi) / mp.exp(-x * x / 2)
            x -= step
            if abs(step) < mpf(10) ** -40:
                break
        return x

    code = compile(FUNCTIONS[name][0], name, "eval")
    out = []
    scope = {"mp": mp, "mpf": mpf, "ndtri": ndtri, "A": SELU_ALPHA, "S": SELU_SCALE}
    for point in points:
        # Differences such as log(1 + x) of a tiny x are formulas here: digits for them too.
        mp.dps = 50 if min(map(abs, point)) > 1e-10 else 120
        value = eval(code, scope | dict(zip("xyz", map(mpf, point))))
        value = mp.re(mpf(value))
        high = float(value)
        out.append((high, float(value - high) if abs(high) < 1e308 else 0.0))
    return out


def function(name):
    import flambeau

    if name in CALLS:
        return eval(f"lambda x: {CALLS[name]}", {"fb": flambeau})
    value = flambeau if hasattr(flambeau, name.split(".")[0]) else flambeau.nn.functional
    for part in name.split("."):
        value = getattr(value, part)
    return value


def tensors(points, dtype):
    """One tensor for each argument."""
    import flambeau

    return [flambeau.tensor(xs, dtype=getattr(flambeau, dtype)) for xs in zip(*points)]


def ulp(got, want, dtype):
    """Error of a number against a pair of doubles."""
    import math

    high, low = want
    if got != got or math.isinf(got) or math.isinf(high):
        same = got == high or (
            math.isinf(got) and abs(high) > MAX[dtype] * (1 - 2.0 ** -DIGITS[dtype])
        )
        return 0.0 if same else math.inf
    exponent = math.frexp(max(abs(high), TINY[dtype]))[1]
    # The numbers are close: the difference of the high parts is exact.
    return abs((got - high) - low) / 2.0 ** max(exponent - DIGITS[dtype], -1074)


def errors(call, points, wants, dtype):
    """(largest error, its arguments) of a function of tensors."""
    got = call(*tensors(points, dtype)).tolist()
    return max((ulp(g, w, dtype), point) for g, w, point in zip(got, wants, points))


def measure(name, count):
    """Row of the table: (error, argument) for each dtype."""
    row = []
    for dtype in MAX:
        points = arguments(name, dtype, count)
        row.append(errors(function(name), points, exact(name, points), dtype))
    return row


def store(count):
    import numpy

    data = {}
    for name in FUNCTIONS:
        for dtype in MAX:
            points = arguments(name, dtype, count if dtype == "float32" else count // 2)
            pairs = exact(name, points)
            data[f"{name}/{dtype}/x"] = numpy.array(points, dtype)
            data[f"{name}/{dtype}/high"] = numpy.array([p[0] for p in pairs])
            if dtype == "float64":
                # The rest in units of the last place of the high part: a float32 is enough.
                data[f"{name}/{dtype}/low"] = numpy.array(
                    [p[1] / numpy.spacing(abs(p[0])) if p[0] else 0.0 for p in pairs], "float32"
                )
    DATA.parent.mkdir(exist_ok=True)
    numpy.savez_compressed(DATA, **data)  # type: ignore[arg-type]
    print(f"{DATA}: {DATA.stat().st_size} bytes")


HEAD = """# Accuracy of the pointwise functions

Largest errors found, in units of the last place (0.5 is a correctly rounded result), and the
arguments of each. Written by `python tools/ulp.py`; `tests/ops/test_accuracy.py` holds the float32
column to 2 ULP for the functions marked with *, the others and float64 to bounds near what stands
here. Bessel functions J and Y and the Airy function have zeros, next to which a unit of the last
place becomes small without bound, and so have the polynomials, which are measured away from them;
the tails of `gelu` and of the incomplete gamma functions multiply the error of an exponent. Sums
and differences (`add`, `lerp`, `addcmul` …) are measured where no digits cancel. `tanhshrink` is
the difference x - tanh(x), as documented, which cancels near 0. What only chooses, copies or
compares (`threshold`, `heaviside`, `nextafter`, `sgn`, `fmax`, `fmin`, `clamp` …) is exact.

| function | float32 | at | float64 | at | arguments |
|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only these, and print instead of writing")
    parser.add_argument("--count", type=int, default=150, help="arguments in each interval")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    if options.store:
        return store(60)
    lines = []
    for name in options.names or FUNCTIONS:
        (e32, x32), (e64, x64) = measure(name, options.count)
        ranges = ", ".join(
            " × ".join(f"[{low:g}, {high:g}]" for low, high in axes(box))
            for box in FUNCTIONS[name][1]
        )
        mark = "" if name in LIMITS["float32"] else " *"
        at32, at64 = (", ".join(f"{x:.6g}" for x in point) for point in (x32, x64))
        lines.append(f"| {name}{mark} | {e32:.2f} | {at32} | {e64:.2f} | {at64} | {ranges} |")
        print(lines[-1], flush=True)
    if not options.names:
        target = ROOT / "docs" / "accuracy.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(HEAD + "\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
