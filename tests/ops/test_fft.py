"""Fourier transforms against NumPy's in double precision, windows and short-time transforms."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)

# every kind of plan: single passes, all radices, split lines, odd ones, convolutions
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 21, 25, 30, 31, 32, 35, 49, 60, 63,
         64, 97, 98, 100, 101, 105, 120, 121, 128, 210, 243, 256, 257, 289, 343, 360, 500, 512, 625,
         720, 1000, 1001, 1009, 1024, 2048, 2187, 3125, 4095, 4096, 5000, 8192, 10007, 16384, 40000,
         65536, 99991, 131072]  # fmt: skip
EPS = {"complex64": 6e-8, "complex128": 1.2e-16}
NORMS = ["backward", "ortho", "forward"]


def tensor(array, grad=False):
    t = flambeau.from_numpy(np.ascontiguousarray(array))
    return t.requires_grad_() if grad else t


def complex_array(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def error(got, want):
    """Relative error in the root mean square."""
    got = got.detach().resolve_conj().numpy()
    assert got.shape == want.shape
    scale = math.sqrt(float(np.mean(np.abs(want) ** 2))) if want.size else 0
    return math.sqrt(float(np.mean(np.abs(got - want) ** 2))) / (scale or 1) if want.size else 0


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", SIZES)
def test_line(n, dtype):
    x = complex_array(n).astype(dtype)
    bound = EPS[dtype] * (2 + math.log2(n)) * (4 if max_factor(n) > 7 else 1)
    wide = x.astype("complex128")
    assert error(flambeau.fft.fft(tensor(x)), np.fft.fft(wide)) <= bound
    assert error(flambeau.fft.ifft(tensor(x)), np.fft.ifft(wide)) <= bound
    real = x.real.copy()
    assert error(flambeau.fft.rfft(tensor(real)), np.fft.rfft(real.astype("float64"))) <= bound
    half = x[: n // 2 + 1]
    want = np.fft.irfft(half.astype("complex128"), n)
    assert error(flambeau.fft.irfft(tensor(half), n), want) <= bound


def max_factor(n):
    if n >= 3000:
        return 8
    primes = (p for p in range(2, n + 1) if n % p == 0 and all(p % q for q in range(2, p)))
    return max(primes, default=1)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 4, 5), (64, 3, 7), (2, 100, 17), (5, 30, 64), (2, 2500, 3)])
def test_every_dimension_and_layout(shape, dim):
    x = complex_array(*shape)
    for view in (tensor(x), tensor(x.transpose(2, 0, 1)).permute(1, 2, 0)):
        assert error(flambeau.fft.fft(view, dim=dim), np.fft.fft(x, axis=dim)) < 1e-15
        assert error(flambeau.fft.ifft(view, dim=dim), np.fft.ifft(x, axis=dim)) < 1e-15
        got = flambeau.fft.irfft(view, dim=dim)
        assert error(got, np.fft.irfft(x, axis=dim)) < 1e-15
    r = x.real.copy()
    for view in (tensor(r), tensor(r.transpose(2, 0, 1)).permute(1, 2, 0)):
        assert error(flambeau.fft.rfft(view, dim=dim), np.fft.rfft(r, axis=dim)) < 1e-15
        assert error(flambeau.fft.fft(view, dim=dim), np.fft.fft(r, axis=dim)) < 1e-15
        assert error(flambeau.fft.hfft(view, dim=dim), np.fft.hfft(r, axis=dim)) < 1e-15
        assert error(flambeau.fft.ihfft(view, dim=dim), np.fft.ihfft(r, axis=dim)) < 1e-15


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [3, 6, 9])
def test_cut_pad_and_norm(n, norm):
    x = complex_array(4, 6)
    for name in ("fft", "ifft", "irfft", "hfft"):
        want = getattr(np.fft, name)(x, n, norm=norm)
        assert error(getattr(flambeau.fft, name)(tensor(x), n, norm=norm), want) < 1e-15
    for name in ("rfft", "ihfft"):
        want = getattr(np.fft, name)(x.real, n, norm=norm)
        assert error(getattr(flambeau.fft, name)(tensor(x.real), n, norm=norm), want) < 1e-15


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 2), (2, 0, 1), (1,), (0, 1, 2)])
def test_several_dimensions(axes, norm):
    x = complex_array(4, 5, 6)
    for name in ("fftn", "ifftn", "irfftn"):
        want = getattr(np.fft, name)(x, axes=axes, norm=norm)
        assert error(getattr(flambeau.fft, name)(tensor(x), dim=axes, norm=norm), want) < 1e-15
    want = np.fft.rfftn(x.real, axes=axes, norm=norm)
    assert error(flambeau.fft.rfftn(tensor(x.real), dim=axes, norm=norm), want) < 1e-15
    # the Hermitian ones by their definition: complex transforms, then a real one
    want = np.fft.ihfft(x.real, axis=axes[-1], norm=norm)
    want = np.fft.ifftn(want, axes=axes[:-1], norm=norm) if axes[:-1] else want
    assert error(flambeau.fft.ihfftn(tensor(x.real), dim=axes, norm=norm), want) < 1e-15
    want = np.fft.fftn(x, axes=axes[:-1], norm=norm) if axes[:-1] else x
    want = np.fft.hfft(want, axis=axes[-1], norm=norm)
    assert error(flambeau.fft.hfftn(tensor(x), dim=axes, norm=norm), want) < 1e-15


def test_two_dimensional_forms():
    x = complex_array(3, 8, 10)
    for name in ("fft2", "ifft2", "irfft2"):
        want = getattr(np.fft, name)(x, (6, 12))
        assert error(getattr(flambeau.fft, name)(tensor(x), (6, 12)), want) < 1e-15
    assert error(flambeau.fft.rfft2(tensor(x.real)), np.fft.rfft2(x.real)) < 1e-15
    assert flambeau.fft.hfft2(tensor(x)).shape == (3, 8, 18)
    assert flambeau.fft.ihfft2(tensor(x.real)).shape == (3, 8, 6)


def test_imaginary_parts_that_cannot_be_are_ignored():
    x = complex_array(5)
    for n in (8, 9):
        clean = x.copy()
        clean[0] = clean[0].real
        if n % 2 == 0:
            clean[-1] = clean[-1].real
        assert error(flambeau.fft.irfft(tensor(x), n), np.fft.irfft(clean, n)) < 1e-15


def test_strides_follow_the_transformed_dimensions():
    x = flambeau.zeros(4, 5, 6)
    assert flambeau.fft.fft(x, dim=0).stride() == (1, 24, 4)
    assert flambeau.fft.fftn(x + 0j, dim=(0, 2)).stride() == (6, 24, 1)
    assert flambeau.fft.rfftn(x).stride() == (20, 4, 1)
    assert flambeau.fft.rfftn(x, dim=(2, 0)).stride() == (1, 18, 3)


def test_result_does_not_depend_on_threads():
    before = flambeau.get_num_threads()
    x = tensor(complex_array(3, 65536).astype("complex64"))
    results = []
    try:
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            results.append([flambeau.fft.fft(x).numpy(), flambeau.fft.fft(x[0]).numpy()])
    finally:
        flambeau.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(results[0][0][0], results[0][1])


def test_dtypes():
    assert flambeau.fft.fft(flambeau.arange(4)).dtype == flambeau.complex64
    assert flambeau.fft.fft(flambeau.tensor([True, False])).tolist() == [1, 1]
    assert flambeau.fft.rfft(flambeau.zeros(4).double()).dtype == flambeau.complex128
    assert flambeau.fft.hfft(flambeau.zeros(4)).dtype == flambeau.float32
    for t in (flambeau.zeros(4).half(), flambeau.zeros(4).bfloat16()):
        with pytest.raises(RuntimeError, match="Unsupported dtype"):
            flambeau.fft.fft(t)


def test_empty_and_infinite():
    assert flambeau.fft.fft(flambeau.zeros(0, 3)).shape == (0, 3)
    assert flambeau.fft.fftn(flambeau.zeros(())).shape == ()
    assert flambeau.fft.fft(flambeau.tensor([1.0, math.nan, 2.0])).isnan().all()
    meta = flambeau.fft.rfft(flambeau.zeros(3, 8, device="meta"), dim=0)
    assert meta.shape == (2, 8) and meta.dtype == flambeau.complex64


def test_errors():
    x = flambeau.zeros(4, 6)
    f = flambeau.fft
    for call, kind, text in [
        (lambda: f.fft(flambeau.tensor(1.0)), IndexError, "tensor has no dimensions"),
        (lambda: f.rfft(x + 0j), RuntimeError, "rfft expects a real input tensor"),
        (lambda: f.ihfft(x + 0j), RuntimeError, "ihfft expects a real input tensor"),
        (lambda: f.rfftn(x + 0j), RuntimeError, "rfftn expects a real-valued input tensor"),
        (lambda: f.fft(x, n=0), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda: f.irfft(x[:, :1]), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda: f.fft(x, norm="bad"), RuntimeError, 'Invalid normalization mode: "bad"'),
        (lambda: f.fftn(x, s=(2, 3), dim=(1,)), RuntimeError, "must have the same length"),
        (lambda: f.fftn(x, s=(2, 3, 4)), RuntimeError, "Got shape with 3 values"),
        (lambda: f.fftn(x, dim=(0, -2)), RuntimeError, "FFT dims must be unique"),
        (lambda: f.rfftn(x, dim=()), RuntimeError, "rfftn must transform at least one axis"),
        (lambda: f.hfftn(flambeau.tensor(1.0), dim=(0,)), IndexError, "tensor has no dimensions"),
        (lambda: f.fft(x, out=flambeau.empty(0)), RuntimeError, "cast to the desired"),
        (lambda: f.fftfreq(4, dtype=flambeau.int32), RuntimeError, "requires a floating point"),
        (lambda: f.fftshift(x, dim=5), IndexError, "Dimension out of range"),
    ]:
        with pytest.raises(kind, match=text):
            call()


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_derivatives(n):
    real, cplx = tensor(RNG.standard_normal((2, n)), True), tensor(complex_array(2, n), True)
    f = flambeau.fft
    cases = [
        (f.fft, real), (f.fft, cplx), (f.ifft, cplx), (f.rfft, real), (f.ihfft, real),
        (lambda t: f.irfft(t, 2 * n - 1), cplx), (lambda t: f.hfft(t, 2 * n), cplx),
        (lambda t: f.rfftn(t, norm="ortho"), real), (lambda t: f.ifftn(t, dim=(1, 0)), cplx),
        (lambda t: f.irfftn(t, s=(3, n + 1)), cplx), (lambda t: f.fft(t, n + 2, 0), cplx),
    ]  # fmt: skip
    for function, argument in cases:
        assert gradcheck(function, (argument,))
        assert gradgradcheck(function, (argument,))


def test_frequencies_and_shifts():
    for n in (0, 1, 4, 5):
        if n:
            np.testing.assert_allclose(
                flambeau.fft.fftfreq(n, 0.1).numpy(), np.fft.fftfreq(n, 0.1), rtol=1e-6
            )
            np.testing.assert_allclose(
                flambeau.fft.rfftfreq(n, 0.1).numpy(), np.fft.rfftfreq(n, 0.1), rtol=1e-6
            )
        a = np.arange(n * 3.0).reshape(n, 3)
        for axes in (None, 0, (0, 1)):
            want = np.fft.fftshift(a, axes)
            np.testing.assert_array_equal(flambeau.fft.fftshift(tensor(a), axes).numpy(), want)
            np.testing.assert_array_equal(flambeau.fft.ifftshift(tensor(want), axes).numpy(), a)


# ---- windows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [0, 1, 2, 5, 16])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(m, periodic):
    scipy = pytest.importorskip("scipy.signal.windows")
    w = flambeau.signal.windows
    for name, function, names in [
        ("hann", flambeau.hann_window, ()),
        ("hamming", flambeau.hamming_window, ()),
        ("blackman", flambeau.blackman_window, ()),
        ("bartlett", flambeau.bartlett_window, ()),
        ("kaiser", flambeau.kaiser_window, (12.0,)),
        ("cosine", None, ()),
        ("nuttall", None, ()),
        ("gaussian", None, (1.0,)),
    ]:
        want = getattr(scipy, name)(m, *names, sym=not periodic)
        parameters = {"beta": 12.0} if name == "kaiser" else {}
        got = getattr(w, name)(m, sym=not periodic, dtype=flambeau.float64, **parameters)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-14, err_msg=name)
        if function:
            got = function(m, periodic, dtype=flambeau.float64)
            np.testing.assert_allclose(got.numpy(), want, atol=1e-14, err_msg=name)
    if m > 1:
        want = scipy.exponential(m, tau=2.0, sym=not periodic)
        got = w.exponential(m, tau=2.0, sym=not periodic, dtype=flambeau.float64)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-14)


def test_kaiser_with_large_beta_does_not_overflow():
    np.testing.assert_allclose(
        flambeau.kaiser_window(5, False, 1000.0, dtype=flambeau.float64).numpy(),
        [0, 1.63e-58, 1, 1.63e-58, 0],
        atol=1e-50,
    )


def test_window_errors():
    w = flambeau.signal.windows
    for call, kind, text in [
        (lambda: flambeau.hann_window(-1), RuntimeError, "requires non-negative window_length"),
        (lambda: flambeau.hann_window(3, dtype=flambeau.int64), RuntimeError, "expects floating"),
        (lambda: w.hann(-1), ValueError, "requires non-negative window length, got M=-1"),
        (lambda: w.hann(3, dtype=flambeau.float16), ValueError, "expects float32 or float64"),
        (lambda: w.gaussian(3, std=0), ValueError, "Standard deviation must be positive"),
        (lambda: w.exponential(3, tau=-1), ValueError, "Tau must be positive"),
        (lambda: w.exponential(3, center=1), ValueError, "Center must be None"),
        (lambda: w.kaiser(3, beta=-1), ValueError, "beta must be non-negative"),
        (lambda: w.general_cosine(3, a=None), TypeError, "must be a list/tuple"),
        (lambda: w.general_cosine(3, a=[]), ValueError, "cannot be empty"),
    ]:
        with pytest.raises(kind, match=text):
            call()


# ---- short-time transforms -----------------------------------------------------------------------


def frames(x, n_fft, hop, window, center):
    if center:
        x = np.pad(x, n_fft // 2, mode="reflect")
    left = (n_fft - len(window)) // 2
    w = np.zeros(n_fft)
    w[left : left + len(window)] = window
    return np.stack([x[s : s + n_fft] * w for s in range(0, len(x) - n_fft + 1, hop)], 1)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_fft,hop,win", [(16, 4, 16), (15, 6, 9), (8, 8, 8)])
def test_stft(n_fft, hop, win, center):
    x, window = RNG.standard_normal(61), RNG.random(win) + 0.5
    want = np.fft.rfft(frames(x, n_fft, hop, window, center), axis=0)
    got = flambeau.stft(
        tensor(x), n_fft, hop, win, tensor(window), center=center, return_complex=True
    )
    np.testing.assert_allclose(got.numpy(), want, atol=1e-13)
    both = tensor(np.stack([x, -x])).stft(
        n_fft, hop, win, tensor(window), center=center, onesided=False, return_complex=False
    )
    full = np.fft.fft(frames(x, n_fft, hop, window, center), axis=0)
    np.testing.assert_allclose(both[0].numpy(), np.stack([full.real, full.imag], -1), atol=1e-13)
    np.testing.assert_allclose(both[1].numpy(), -both[0].numpy(), atol=1e-13)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("onesided", [False, True])
def test_istft_inverts(onesided, normalized):
    x, window = tensor(RNG.standard_normal((2, 60))), flambeau.hann_window(12).double()
    keywords = {"window": window, "normalized": normalized, "onesided": onesided}
    s = flambeau.stft(x, 12, return_complex=True, **keywords)
    np.testing.assert_allclose(flambeau.istft(s, 12, **keywords).numpy(), x.numpy(), atol=1e-12)
    longer = flambeau.istft(s, 12, length=70, **keywords)
    assert longer.shape == (2, 70)
    np.testing.assert_allclose(longer[:, :60].numpy(), x.numpy(), atol=1e-12)
    c = x + 1j * x.flip(1)
    s = flambeau.stft(c, 12, window=window, normalized=normalized)
    back = flambeau.istft(s, 12, window=window, normalized=normalized, return_complex=True)
    np.testing.assert_allclose(back.numpy(), c.numpy(), atol=1e-12)


def test_short_time_derivatives():
    x, window = tensor(RNG.standard_normal(14), True), tensor(RNG.random(4) + 0.5, True)
    assert gradcheck(lambda x, w: flambeau.stft(x, 6, 2, 4, w, return_complex=True), (x, window))
    s = tensor(complex_array(4, 5), True)
    assert gradcheck(lambda s, w: flambeau.istft(s, 6, 2, 4, w), (s, window))


def test_short_time_errors():
    x, w = flambeau.zeros(100), flambeau.ones(10)
    s = flambeau.stft(x, 16, window=flambeau.ones(16), return_complex=True)
    for call, text in [
        (lambda: flambeau.stft(x, 16), "requires the return_complex parameter"),
        (lambda: flambeau.stft(x.long(), 16, return_complex=True), "floating point or complex"),
        (lambda: flambeau.stft(x[None, None], 16, return_complex=True), "1D or 2D tensor"),
        (lambda: flambeau.stft(x, 300, center=False, return_complex=True), "expected 0 < n_fft"),
        (lambda: flambeau.stft(x, 16, 0, return_complex=True), "expected hop_length > 0"),
        (lambda: flambeau.stft(x, 16, win_length=20, return_complex=True), "0 < win_length <="),
        (lambda: flambeau.stft(x, 16, window=w, return_complex=True), "window with size"),
        (lambda: flambeau.stft(x + 0j, 16, onesided=True), "Cannot have onesided output"),
        (lambda: flambeau.istft(s.real, 16), "requires a complex-valued input"),
        (lambda: flambeau.istft(s, 14), "expected the frequency dimension"),
        (lambda: flambeau.istft(s, 16, 20), "expected 0 < hop_length <= win_length"),
        (lambda: flambeau.istft(s, 16, window=w), "Invalid window shape"),
        (lambda: flambeau.istft(s, 16, window=flambeau.zeros(16)), "window overlap add min: 1"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()


BITS = """
import hashlib, numpy, flambeau
rng, h = numpy.random.default_rng(0), hashlib.sha256()
for n in [*range(1, 40), 100, 210, 1009, 1024, 2187, 4096]:
    for dtype in ("complex64", "complex128"):
        x = flambeau.from_numpy((rng.random((3, n)) + 1j * rng.random((3, n))).astype(dtype))
        f = flambeau.fft
        for y in (f.fft(x), f.rfft(x.real), f.irfft(x, 2 * n), f.fft(x, dim=0)):
            h.update(y.contiguous().numpy().tobytes())
print(h.hexdigest())
"""


def test_bits_do_not_depend_on_the_instruction_set():
    def digest(target):
        environment = {**os.environ, "FLAMBEAU_CPU": target}
        return subprocess.check_output([sys.executable, "-c", BITS], env=environment)

    assert digest("baseline") == digest("avx2") == digest("avx512")


def test_a_length_of_zero_ends_below_the_public_names_too():
    with pytest.raises(RuntimeError, match="data points"):
        flambeau._C.ops._fft_r2c(flambeau.ones(0, 1, 3), [1, 0], 0, True)
    empty = flambeau.ones(2, 0, dtype=flambeau.complex64)
    assert flambeau._C.ops._fft_c2c(empty, [1], 0, True).shape == (2, 0)
