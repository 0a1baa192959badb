"""Writes csrc/simd/vmath_special_tables.h: Chebyshev coefficients of the special functions.

    python tools/fit_special.py > csrc/simd/vmath_special_tables.h   (needs mpmath; about a minute)

Each table is the Chebyshev interpolant, computed with 50 digits and cut where the rest is below
double precision, of a smooth factor of a function; the headers that use a table say how the
function follows from it.
"""

from __future__ import annotations

from mpmath import mp, mpf

mp.dps = 50


def coefficients(f, count, rest):
    """Coefficients c of sum c[k] T_k(u) that equals f in the Chebyshev nodes, cut at `rest`."""
    angles = [mp.pi * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [f(mp.cos(a)) for a in angles]
    out = []
    for k in range(count):
        total = mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles))
        out.append(total * (1 if k == 0 else 2) / count)
    scale = max(abs(v) for v in values)
    while len(out) > 2 and abs(out[-1]) < scale * rest:
        out.pop()
    return out


TABLES: list = []


REST = mpf(2) ** -56


def table(name, f, count=48, rest=REST):
    TABLES.append((name, f, count, rest))


def inverse(low):
    """u in [-1, 1] to x = 2·low / (u + 1) in [low, infinity)."""
    return lambda u: 2 * low / (u + 1)


def of_square(limit):
    """u to x with x² = limit²·(u + 1)/2 in [0, limit]."""
    return lambda u: limit * mp.sqrt((u + 1) / 2)


# ---- modified Bessel functions -------------------------------------------------------------------
far2, far8, near2, near8 = inverse(mpf(2)), inverse(mpf(8)), of_square(mpf(2)), of_square(mpf(8))


def linear(low, high):
    return lambda u: low + (high - low) * (u + 1) / 2


to8 = linear(mpf(0), mpf(8))
table("I0eNear", lambda u: mp.exp(-to8(u)) * mp.besseli(0, to8(u)))
table("I1eNear", lambda u: mp.exp(-to8(u)) * mp.besseli(1, to8(u)) / to8(u))
for n in (0, 1):
    table(
        f"I{n}eFar",
        lambda u, n=n: mp.sqrt(far8(u)) * mp.exp(-far8(u)) * mp.besseli(n, far8(u)),
    )
table("I0Small", lambda u: mp.besseli(0, near2(u)))
table("I1Small", lambda u: mp.besseli(1, near2(u)) / near2(u))
table(
    "K0Near",
    lambda u: mp.besselk(0, near2(u)) + mp.log(near2(u) / 2) * mp.besseli(0, near2(u)),
)
table(
    "K1Near",
    lambda u: near2(u) * (mp.besselk(1, near2(u)) - mp.log(near2(u) / 2) * mp.besseli(1, near2(u))),
)
for n in (0, 1):
    table(f"K{n}Far", lambda u, n=n: mp.sqrt(far2(u)) * mp.exp(far2(u)) * mp.besselk(n, far2(u)))


# ---- Bessel functions ----------------------------------------------------------------------------
def without_zeros(n):
    zeros = [mp.besseljzero(n, k) for k in (1, 2)]

    def f(u):
        x = near8(u)
        value = mp.besselj(n, x) / (x if n else 1)
        return value / ((x * x - zeros[0] ** 2) * (x * x - zeros[1] ** 2))

    return f


table("J0Near", without_zeros(0))
table("J1Near", without_zeros(1))
table(
    "Y0Near",
    lambda u: mp.bessely(0, near8(u)) - 2 / mp.pi * mp.log(near8(u)) * mp.besselj(0, near8(u)),
)
table(
    "Y1Near",
    lambda u: (
        (
            mp.bessely(1, near8(u))
            - 2 / mp.pi * (mp.log(near8(u)) * mp.besselj(1, near8(u)) - 1 / near8(u))
        )
        / near8(u)
    ),
)


def hankel(n, imaginary):
    """P and x·Q of sqrt(2/(pi x))·e^(i chi)·(P + iQ) = J + iY."""

    def f(u):
        x = 8 * mp.sqrt(2 / (u + 1))
        chi = x - (2 * n + 1) * mp.pi / 4
        value = mp.mpc(mp.besselj(n, x), mp.bessely(n, x)) * mp.sqrt(mp.pi * x / 2)
        value *= mp.expj(-chi)
        return value.imag * x if imaginary else value.real

    return f


for n in (0, 1):
    table(f"P{n}", hankel(n, False))
    table(f"Q{n}", hankel(n, True))


# ---- Airy function -------------------------------------------------------------------------------
middle = linear(mpf(-5), mpf(1))
table("AiryNear", lambda u: mp.airyai(middle(u)))


def airy_right(u):
    zeta = mpf(2) / 3 * 2 / (u + 1)
    x = (zeta * 3 / 2) ** (mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** mpf("0.25") * mp.exp(zeta)


table("AiryRight", airy_right, 64)


def airy_left(imaginary):
    def f(u):
        zeta = mpf(2) / 3 * mpf(5) ** mpf("1.5") * mp.sqrt(2 / (u + 1))
        t = (zeta * 3 / 2) ** (mpf(2) / 3)
        scale = mp.sqrt(mp.pi) * t ** mpf("0.25")
        a, b = mp.airyai(-t) * scale, mp.airybi(-t) * scale
        s, c = mp.sin(zeta + mp.pi / 4), mp.cos(zeta + mp.pi / 4)
        return (b * s - a * c) * zeta * -1 if imaginary else a * s + b * c

    return f


table("AiryP", airy_left(False))
table("AiryQ", airy_left(True))


# ---- normal distribution -------------------------------------------------------------------------
def scaled_erfc(u):
    a = 2 * (1 + u) / (1 - u)
    big = a > 1000
    tail = 1 - 1 / (2 * a**2) + 3 / (4 * a**4) - 15 / (8 * a**6) + 105 / (16 * a**8)
    value = tail / (a * mp.sqrt(mp.pi)) if big else mp.exp(a * a) * mp.erfc(a)
    return (1 + 2 * a) * value


table("Erfcx", scaled_erfc, 64)


def quantile(log_p):
    """-x with Phi(x) = e^log_p, by Newton's method on the logarithm."""
    x = -mp.sqrt(-2 * log_p)
    for _ in range(60):
        phi = mp.erfc(-x / mp.sqrt(2)) / 2
        slope = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) / phi
        step = (mp.log(phi) - log_p) / slope
        x -= step
        if abs(step) < mpf(10) ** -45:
            break
    return -x


def central(u):
    q = mp.sqrt(mpf(9) / 64 * (u + 1) / 2)
    return quantile(mp.log(mpf(1) / 2 - q)) / q


table("NdtriCentral", central)
SPLIT, LOW, HIGH = mpf(8), mpf(2), mpf(39)
table("NdtriTail", lambda u: quantile(-(linear(LOW, SPLIT)(u) ** 2) / 2) / linear(LOW, SPLIT)(u))


def far_tail(u):
    r = 1 / linear(1 / HIGH, 1 / SPLIT)(u)
    return quantile(-r * r / 2) / r


table("NdtriFar", far_tail)


def main():
    print("// Generated by tools/fit_special.py; see there.")
    print("#pragma once\n")
    print("namespace flambeau {\nnamespace FLAMBEAU_TARGET_NS {\n")
    for name, f, count, rest in TABLES:
        c = [mp.nstr(v, 18) for v in coefficients(f, count, rest)]
        print(f"inline constexpr double k{name}[] = {{")
        line = "   "
        for v in c:
            if len(line) + len(v) + 2 > 100:
                print(line)
                line = "   "
            line += f" {v},"
        print(line.rstrip(",") + "};")
    print("\n}  // namespace FLAMBEAU_TARGET_NS\n}  // namespace flambeau")


if __name__ == "__main__":
    main()
