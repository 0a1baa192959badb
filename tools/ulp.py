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

# name -> (exact function over mpmath, intervals of arguments). An interval that spans magnitudes is
# sampled evenly in the exponent, any other evenly.
ALL = [(-MAX["float32"], MAX["float32"])]
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
}
# In float32 at most 2 ULP; the others are measured only.
ELEMENTARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan sinh cosh tanh asin acos"
    " atan asinh acosh atanh erf erfc erfinv sigmoid lgamma digamma sinc special.expit i0"
    " special.i0e special.i1 special.i1e special.modified_bessel_k0 special.modified_bessel_k1"
    " special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.erfcx "
    "special.ndtr"
    " special.log_ndtr special.ndtri special.entr special.spherical_bessel_j0 trigamma"
).split()


def as_float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def arguments(name, dtype, count):
    """`count` numbers of the dtype for each interval, always the same."""
    rng = random.Random(zlib.crc32(f"{name} {dtype}".encode()))
    out = []
    for low, high in FUNCTIONS[name][1]:
        wide = low > 0 and high / low > 100
        for _ in range(count):
            u = rng.random()
            x = low * (high / low) ** u if wide else low + (high - low) * u
            x = as_float32(x) if dtype == "float32" else x
            if low <= x <= high and x:
                out.append(x)
    return out


def exact(name, xs):
    """The values at xs as pairs of doubles whose sum is exact to 100 bits."""
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
    for x in xs:
        # Differences such as log(1 + x) of a tiny x are formulas here: digits for them too.
        mp.dps = 50 if abs(x) > 1e-10 else 120
        value = eval(code, {"mp": mp, "x": mpf(x), "ndtri": ndtri, "abs": abs})
        value = mp.re(value)
        high = float(value)
        out.append((high, float(value - high) if abs(high) < 1e308 else 0.0))
    return out


def function(name):
    import flambeau

    if name == "trigamma":
        return lambda x: flambeau.polygamma(1, x)
    value = flambeau
    for part in name.split("."):
        value = getattr(value, part)
    return value


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


def errors(call, xs, wants, dtype):
    """(largest error, its argument) of a function of tensors."""
    import flambeau

    got = call(flambeau.tensor(xs, dtype=getattr(flambeau, dtype))).tolist()
    return max((ulp(g, w, dtype), x) for g, w, x in zip(got, wants, xs))


def measure(name, count):
    """Row of the table: (error, argument) for each dtype."""
    row = []
    for dtype in MAX:
        xs = arguments(name, dtype, count)
        row.append(errors(function(name), xs, exact(name, xs), dtype))
    return row


def store(count):
    import numpy

    data = {}
    for name in FUNCTIONS:
        for dtype in MAX:
            xs = arguments(name, dtype, count if dtype == "float32" else count // 2)
            pairs = exact(name, xs)
            data[f"{name}/{dtype}/x"] = numpy.array(xs, dtype)
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
argument of each. Written by `python tools/ulp.py`; `tests/ops/test_accuracy.py` holds the float32
column to 2 ULP for the functions marked with *. The Bessel functions J and Y and the Airy function
have zeros, next to which a unit of the last place becomes small without bound; float32 results
keep their digits there because they are computed in double.

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
        ranges = ", ".join(f"[{low:g}, {high:g}]" for low, high in FUNCTIONS[name][1])
        mark = " *" if name in ELEMENTARY else ""
        lines.append(f"| {name}{mark} | {e32:.2f} | {x32:.6g} | {e64:.2f} | {x64:.6g} | {ranges} |")
        print(lines[-1], flush=True)
    if not options.names:
        target = ROOT / "docs" / "accuracy.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(HEAD + "\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
