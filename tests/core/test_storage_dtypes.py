"""dtypes without arithmetic of their own: unsigned integers, complex32, eight-bit floats.

tests/data/storage_dtypes.json holds what PyTorch 2.13 makes of the same numbers.
"""

from __future__ import annotations

import copy
import json
import math
import pathlib

import numpy
import pytest

import flambeau as t

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[1] / "data" / "storage_dtypes.json").read_text()
)
UNSIGNED = ["uint16", "uint32", "uint64"]
FLOAT8 = [name for name in RECORDED if name.startswith("float8")]
ALL = [*UNSIGNED, "complex32", *FLOAT8]


def number(v):
    return math.nan if v is None else float(v)


@pytest.mark.parametrize("name", FLOAT8)
def test_eight_bits_as_recorded(name):
    dtype, recorded = getattr(t, name), RECORDED[name]
    decoded = t.arange(256, dtype=t.uint8).view(dtype).float()
    numpy.testing.assert_array_equal(decoded.numpy(), [number(v) for v in recorded["decoded"]])
    values = t.tensor(RECORDED["values"])

    def encoded(x):
        return x.to(dtype).view(t.uint8).tolist()

    assert encoded(values) == recorded["encoded"]
    assert encoded(values.double()) == recorded["encoded"]
    assert encoded(t.tensor([math.inf, -math.inf, math.nan])) == recorded["special"]
    assert encoded(values[:16].half()) == recorded["half"]
    assert encoded(t.arange(-4, 5)) == recorded["ints"]
    f = t.finfo(dtype)
    assert [f.bits, f.eps, f.max, f.min, f.tiny, f.resolution] == recorded["finfo"]


@pytest.mark.parametrize("name", FLOAT8)
def test_eight_bits_round_trip(name):
    codes = t.arange(256, dtype=t.uint8)
    x = codes.view(getattr(t, name))
    back = x.float().to(x.dtype).view(t.uint8)
    numbers = ~x.float().isnan()
    assert t.equal(back[numbers], codes[numbers])


@pytest.mark.parametrize("pair", RECORDED["promote"])
def test_promotion(pair):
    a, b = (getattr(t, name) for name in pair.split())
    expected = RECORDED["promote"][pair]
    if expected is None:
        for first, second in ((a, b), (b, a)):
            with pytest.raises(RuntimeError, match="attempted to promote"):
                t.promote_types(first, second)
    else:
        assert t.promote_types(a, b) == t.promote_types(b, a) == getattr(t, expected)


@pytest.mark.parametrize("name", ALL)
def test_moved_as_bytes(name):
    dtype = getattr(t, name)
    x = t.tensor([1, 2, 4, 8], dtype=dtype)
    values = x.tolist()
    assert values == [1, 2, 4, 8] and x.dtype == dtype and x[1].item() == 2
    grid = x.reshape(2, 2)
    assert grid.t().contiguous().tolist() == [[1, 4], [2, 8]]
    assert t.cat([x, x]).tolist() == values * 2 and t.stack([x, x]).shape == (2, 4)
    assert x[t.tensor([3, 0])].tolist() == [8, 1]
    assert x[t.tensor([True, False, False, True])].tolist() == [1, 8]
    assert x.clone().tolist() == copy.deepcopy(x).tolist() == values
    assert t.zeros(2, dtype=dtype).tolist() == [0, 0] or name == "float8_e8m0fnu"
    assert t.full((2,), 4, dtype=dtype).tolist() == t.ones(2, dtype=dtype).mul(4).tolist()
    changed = x.clone()
    changed[0] = 2
    changed[2:].copy_(t.tensor([1.0, 1.0]))
    assert changed.tolist() == [2, 2, 1, 1]
    assert (x == x).all() and t.equal(x, x.clone()) and (x == 2).tolist() == [0, 1, 0, 0]
    assert t.where(x == 2, x, x).tolist() == values
    assert x.to(t.float64).tolist() == x.to(t.complex128).real.tolist() == values
    assert x.to(t.bool).all() and x.repeat(2).shape == (8,)
    assert f"dtype=torch.{name}" in repr(x) and x.element_size() == dtype.itemsize
    assert t.empty(3, dtype=dtype, device="meta").dtype == dtype
    assert x.view(t.uint8).numel() == 4 * dtype.itemsize


@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_numbers(name):
    dtype, bits = getattr(t, name), 8 * getattr(t, name).itemsize
    top = 2**bits - 1
    x = t.tensor([0, 1, top], dtype=dtype)
    assert x.tolist() == [0, 1, top] and not dtype.is_signed and not dtype.is_floating_point
    width = len(str(top))
    assert repr(x).startswith(f"tensor([{0:>{width}}, {1:>{width}}, {top}],")
    assert t.iinfo(dtype).max == top and t.iinfo(dtype).min == 0
    array = x.numpy()
    assert array.dtype == name and array.tolist() == [0, 1, top]
    assert t.from_numpy(array).data_ptr() == x.data_ptr()
    assert t.tensor(numpy.array([top], name)).tolist() == [top]
    assert t.tensor(getattr(numpy, name)(7)).dtype == dtype
    assert t.from_dlpack(x).dtype == dtype
    assert t.tensor([-1, 300]).to(dtype).tolist() == [top, 300]
    assert t.tensor([-1.0, 300.7]).to(dtype).tolist() == [top, 300]
    assert x[2].item() == top and (x == x[2]).tolist() == [0, 0, 1]
    assert x.double().tolist() == [0, 1, float(top)] and x.sum().dtype == t.int64
    assert (t.ones(2, dtype=dtype) * 2).dtype == dtype
    assert (t.ones(2, dtype=dtype) / 2).tolist() == [0.5, 0.5]
    error, text = (OverflowError, "") if bits == 64 else (RuntimeError, "without overflow")
    with pytest.raises(error, match=text):
        t.tensor([2**bits], dtype=dtype)
    with pytest.raises(RuntimeError, match="attempted to promote"):
        x + t.ones(3, dtype=t.int32)


def test_what_int64_would_get_wrong_is_refused():
    x = t.tensor([1, 2**64 - 1], dtype=t.uint64)
    for f in (lambda: x < 5, lambda: x // 2, lambda: x.max(), lambda: x.clamp(0, 1)):
        with pytest.raises(NotImplementedError, match="not implemented for 'UInt64'"):
            f()
    assert (x + 1).tolist() == [2, 0]


@pytest.mark.parametrize("f", [t.sort, t.cumsum, t.nonzero, t.mm], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ALL)
def test_kernels_refuse_or_work(name, f):
    x = t.ones((2, 2), dtype=getattr(t, name))
    wide = x.to(t.complex128 if name == "complex32" else t.float64)
    args = {"cumsum": (0,), "mm": (wide,)}.get(f.__name__, ())
    expected = f(wide, *args) if name != "complex32" or f is not t.sort else None
    if f is t.mm:
        args = (x,)
    try:
        found = f(x, *args)
    except (NotImplementedError, RuntimeError) as e:
        assert "mplemented" in str(e) or "dtype" in str(e), e
        return
    pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        assert t.equal(one.to(other.dtype), other)


def test_complex32():
    x = t.tensor([1 + 2j, -0.5j], dtype=t.complex32)
    assert t.chalf is t.complex32 and x.tolist() == [1 + 2j, -0.5j]
    assert (x + 1).dtype == t.complex32 and (x * x).tolist() == [-3 + 4j, -0.25]
    assert x.abs().dtype == t.float16 and t.complex32.to_real() == t.float16
    assert t.view_as_real(x).dtype == t.float16 and x.imag.tolist() == [2, -0.5]


def test_not_a_default_dtype():
    for name in ALL:
        with pytest.raises(TypeError):
            t.set_default_dtype(getattr(t, name))
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
        t.uint16.to_complex()
    with pytest.raises(TypeError, match="unsupported ScalarType Float8_e5m2"):
        t.zeros(1, dtype=t.float8_e5m2).numpy()


@pytest.mark.parametrize("name", UNSIGNED)
def test_order_of_unsigned_integers(name):
    dtype = getattr(t, name)
    top = t.iinfo(dtype).max
    x = t.tensor([3, top, 0, 3], dtype=dtype)
    values, at = x.sort()
    assert (
        values.dtype is dtype and values.tolist() == [0, 3, 3, top] and at.tolist() == [2, 0, 3, 1]
    )
    assert x.sort(descending=True).values.tolist() == [top, 3, 3, 0]
    assert x.argsort(descending=True, stable=True).tolist() == [1, 0, 3, 2]
    assert t.msort(x.view(2, 2)).tolist() == [[0, 3], [3, top]]
    unique, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert unique.tolist() == [0, 3, top] and inverse.tolist() == [1, 2, 0, 1]
    assert counts.tolist() == [1, 2, 1] and unique.dtype is dtype
    assert x.unique_consecutive().tolist() == [3, top, 0, 3]
    assert x.view(2, 2).unique(dim=0).tolist() == [[0, 3], [3, top]]
    for call in (lambda: x.topk(2), lambda: x.kthvalue(1), lambda: x.max(0), lambda: x.median()):
        with pytest.raises(NotImplementedError):
            call()


def test_statistics_of_complex_halves():
    z = t.tensor([1 + 2j, 3 - 1j, 2], dtype=t.complex32)
    half = lambda x: float(t.tensor(x, dtype=t.float16))  # noqa: E731
    assert z.std().dtype is t.float16 and z.std().item() == half(1.8262)
    assert z.var().item() == half(3.334)
    spread, mean = t.var_mean(z.view(1, 3), 1)
    assert mean.dtype is t.complex32 and spread.item() == half(3.334)
    for order, want in ((2, 4.3594), (1, 7.3984), (0, 3.0), (3, 3.7031), (math.inf, 3.1621)):
        norm = t.linalg.vector_norm(z, order)
        assert norm.dtype is t.float16 and norm.item() == half(want), order
    assert z.norm().item() == half(4.3594)
    line = z.view(1, 1, 3)
    assert t.nn.functional.conv1d(line, line).dtype is t.complex32
    assert t.nn.functional.conv1d(line, line, padding=1).tolist() == [[[11 + 3j, 9 - 2j, 11 + 3j]]]
    for call in (lambda: z.sum(), lambda: z.prod(), lambda: z.cumsum(0)):
        with pytest.raises(NotImplementedError, match="ComplexHalf"):
            call()
    with pytest.raises(RuntimeError, match="ComplexHalf"):
        t.fft.fft(z)


def test_complex_halves_of_halves():
    h = t.tensor([1.0, 2.0], dtype=t.float16)
    assert t.complex(h, h).dtype is t.view_as_complex(h).dtype is (h * 1j).dtype is t.complex32
    assert t.view_as_complex(h).item() == 1 + 2j and t.float16.to_complex() is t.complex32
    assert t.ones(2).chalf().dtype is t.ones(2, dtype=t.complex128).chalf().dtype is t.complex32
    images = t.ones(2, 2, 2, 2).chalf(memory_format=t.channels_last)
    assert images.stride() == (8, 1, 4, 2)


# ---- hashes --------------------------------------------------------------------------------------


def test_hash_tensor():  # numbers of PyTorch 2.13
    x = t.arange(4.0)
    whole = 4609434218613702656
    assert t.hash_tensor(x).item() == x.double().hash_tensor().item() == whole
    assert (
        x.half().hash_tensor().item() == x.bfloat16().view(2, 2).hash_tensor((0, 1)).item() == whole
    )
    m = x.view(2, 2)
    assert t.hash_tensor(m, 0).tolist() == [4611686018427387904, 9221120237041090560]
    assert t.hash_tensor(m, 1, keepdim=True).tolist() == [[4607182418800017408], [2251799813685248]]
    assert t.hash_tensor(t.tensor(-0.0)).item() == 1 << 63
    assert t.hash_tensor(t.tensor(math.nan)).item() == 9221120237041090560
    assert t.hash_tensor(t.tensor([-2, -1, 0, 1], dtype=t.int8)).item() == 0
    assert t.hash_tensor(t.tensor([5, 3])).item() == 6
    assert t.hash_tensor(m.to("meta"), 0).shape == (2,) and t.hash_tensor(x).dtype is t.uint64
    assert t.hash_tensor(t.empty(2, 0), 0).shape == (0,)
    for call, error in (
        (lambda: t.hash_tensor(x, mode=1), RuntimeError),
        (lambda: t.hash_tensor(x, 3), IndexError),
        (lambda: t.hash_tensor(t.empty(0)), RuntimeError),
        (lambda: t.hash_tensor(t.empty(0, 3), 0), IndexError),
        (lambda: t.hash_tensor(m, (0, 0)), RuntimeError),
        (lambda: t.hash_tensor(x.cfloat()), NotImplementedError),
        (lambda: t.hash_tensor(x, out=t.empty(())), RuntimeError),
    ):
        with pytest.raises(error):
            call()


# ---- products of eight-bit floats ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_scaled_mm(name):
    dtype = getattr(t, name)
    a = (t.arange(32.0) % 7).view(2, 16).to(dtype)
    b = (t.arange(48.0) % 5 - 2).view(3, 16).to(dtype).t()
    exact = a.float() @ b.float()
    one, half = t.tensor(1.0), t.tensor(0.5)
    assert t._scaled_mm(a, b, one, one).dtype is dtype
    assert t.equal(t._scaled_mm(a, b, half, half, out_dtype=t.float32), exact / 4)
    rows, columns = t.tensor([[1.0], [2.0]]), t.tensor([[1.0, 0.5, 4.0]])
    bias = t.tensor([1.0, 0.0, -1.0], dtype=t.bfloat16)
    found = t._scaled_mm(a, b, rows, columns, bias=bias, out_dtype=t.bfloat16)
    assert t.equal(found, (exact * rows * columns + bias.float()).bfloat16())
    for call, error in (
        (lambda: t._scaled_mm(a, a, one, one), RuntimeError),
        (lambda: t._scaled_mm(a.float(), b, one, one), ValueError),
        (lambda: t._scaled_mm(a, b, one.double(), one), ValueError),
        (lambda: t._scaled_mm(a, b, rows, one), ValueError),
        (lambda: t._scaled_mm(a, b, one, one, bias=bias[:2]), RuntimeError),
    ):
        with pytest.raises(error):
            call()
