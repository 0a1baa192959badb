"""`assert_close`: what passes, what fails and the exact words; `make_tensor`."""

import collections

import pytest

import flambeau
from flambeau.testing import assert_close, make_tensor

pytestmark = pytest.mark.quick
T = flambeau.tensor
NAN, INF = float("nan"), float("inf")


def message(*args, kind=AssertionError, **options):
    with pytest.raises(kind) as caught:
        assert_close(*args, **options)
    assert type(caught.value) is kind
    return str(caught.value)


@pytest.mark.parametrize(
    "actual, expected, options",
    [
        (T([1.0, 2.0]), T([1.0, 2.0]), {}),
        (T([1.0]), T([1.0000001]), {}),
        (T([1.0]), T([1.01]), {"rtol": 0.1, "atol": 0.0}),
        (T([NAN]), T([NAN]), {"equal_nan": True}),
        (T([INF]), T([INF]), {}),
        (T([5]), T([7]), {"atol": 2, "rtol": 0}),
        (T([1.0, 2.0]), T([1, 2]), {"check_dtype": False}),
        (T([1.0, 2.0]).half(), T([1.0, 2.001]).half(), {}),
        (T([1.0 + 1j]), T([1.0 + 1.0000001j]), {}),
        (flambeau.zeros(0), flambeau.zeros(0), {}),
        (flambeau.ones(1, device="meta"), flambeau.ones(1, device="meta"), {}),
        (T([0.0]), T([0.0]).requires_grad_(), {}),
        (1, 1.0, {"check_dtype": False}),
        (1.0, 1.00000001, {}),
        (NAN, NAN, {"equal_nan": True}),
        (INF, INF, {}),
        (True, True, {}),
        (None, None, {}),
        ((1,), [1], {}),
        ([], [], {}),
        (collections.OrderedDict(a=T([1.0])), {"a": T([1.0])}, {}),
    ],
)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


def test_floats_name_count_and_worst_index():
    assert message(T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 5.0], [3.0, 9.0]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 5.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.6000000238418579 at index (0, 1) (up to 1.3e-06 allowed)"
    )


def test_integers_are_equal_or_not():
    a, b = (T(v, dtype=flambeau.uint8) for v in ([5, 7, 1], [5, 3, 9]))
    assert message(a, b) == (
        "Tensor-likes are not equal!\n\nMismatched elements: 2 / 3 (66.7%)\n"
        "Greatest absolute difference: 8 at index (2,)\n"
        "Greatest relative difference: 1.3333333730697632 at index (1,)"
    )
    text = message(T([True, False]), T([True, True]))
    assert "Greatest absolute difference: 1 at index (1,)" in text


def test_nan_and_infinity():
    text = message(T([NAN, 1.0, 3.0]), T([1.0, 1.0, 5.0]))
    assert "Mismatched elements: 2 / 3 (66.7%)" in text
    assert "Greatest absolute difference: nan at index (0,)" in text
    text = message(T([0.0, 1e-3]), T([0.0, 0.0]))
    assert "Greatest relative difference: inf at index (1,)" in text


def test_tolerances_by_dtype():
    a, b = (T(v).to(flambeau.bfloat16) for v in ([1.0, 2.0], [1.0, 2.5]))
    assert "0.2001953125 at index (1,) (up to 0.016 allowed)" in message(a, b)
    a, b = T([100.0], dtype=flambeau.float64), T([100.1], dtype=flambeau.float64)
    assert "(up to 1e-07 allowed)" in message(a, b)


def test_scalars():
    assert message(T(1.0), T(2.0)) == (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)"
    )
    assert message(1, 2) == (
        "Scalars are not equal!\n\nExpected 2 but got 1.\n"
        "Absolute difference: 1\nRelative difference: 0.5"
    )
    assert "Relative difference: inf (up to 1e-07 allowed)" in message(1.0, 0.0)
    assert message(True, False) == "Booleans mismatch: True is not False"
    assert message(None, 1) == "None mismatch: None is not 1"
    assert message(1, 1.0) == ("The (d)types do not match: <class 'int'> != <class 'float'>.")


@pytest.mark.parametrize(
    "actual, expected, options, text",
    [
        (T([1.0, 2.0]), T([1.0]), {}, "'shape' do not match: torch.Size([2]) != torch.Size([1])."),
        (T([1.0]), T([1]), {}, "'dtype' do not match: torch.float32 != torch.int64."),
        (T([1.0]), flambeau.ones(1, device="meta"), {}, "'device' do not match: cpu != meta."),
        (
            flambeau.ones(2, 3),
            flambeau.ones(3, 2).t(),
            {"check_stride": True},
            "'stride()' do not match: (3, 1) != (1, 2).",
        ),
    ],
)
def test_attributes(actual, expected, options, text):
    assert message(actual, expected, **options) == f"The values for attribute {text}"


def test_structures():
    a, b = ({"a": [1, {"b": T([1.0, v])}]} for v in (2.0, 2.5))
    assert message(a, b).endswith("\n\nThe failure occurred for item ['a'][1]['b']")
    assert message([1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert message({"a": 1.0}, {"b": 1.0}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['b']\n"
        "Additional keys in the actual mapping: ['a']"
    )
    text = message([1.0, 2], [1.5, "a"], kind=TypeError)
    assert text == (
        "No comparison pair was able to handle inputs of type <class 'int'> and <class 'str'>."
        "\n\nThe failure occurred for item [1]"
    )


def test_wrong_arguments():
    for given, missing in (("rtol", "atol"), ("atol", "rtol")):
        text = message(1.0, 1.0, kind=ValueError, **{given: 0.1})
        assert text.endswith(f"but got no {missing}.")
    message(1.0, 1.0, kind=RuntimeError, rtol=-1.0, atol=0.0)
    message(T([1.0]), 1.0, kind=TypeError)


def test_own_message():
    assert message(T([1.0]), T([2.0]), msg="own") == "own"
    text = message(T([1.0]), T([2.0]), msg=lambda m: "own: " + m)
    assert text.startswith("own: Tensor-likes are not close!")


def test_arrays():
    numpy = pytest.importorskip("numpy")
    assert_close(numpy.ones(3), numpy.ones(3))
    assert "Mismatched elements: 1 / 2" in message(numpy.array([1, 2]), numpy.array([1, 3]))
    assert_close(numpy.float64(1.0), 1.0)


@pytest.mark.parametrize(
    "name", "bool uint8 int8 int64 float16 bfloat16 float32 float64 complex64".split()
)
def test_make_tensor(name):
    dtype = getattr(flambeau, name)
    t = make_tensor(3, 4, dtype=dtype, device="cpu")
    assert t.shape == (3, 4) and t.dtype is dtype and t.is_contiguous()
    assert make_tensor((2, 4), dtype=dtype, device="cpu", noncontiguous=True).stride() == (8, 2)
    t = make_tensor(100, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True)
    assert all(abs(v) > 0 for v in t.tolist())


def test_make_tensor_range_and_errors():
    t = make_tensor(500, dtype=flambeau.float32, device="cpu", low=-1, high=3, requires_grad=True)
    assert t.requires_grad and min(t.tolist()) >= -1 and max(t.tolist()) < 3
    t = make_tensor(9, dtype=flambeau.float16, device="cpu", low=-INF, high=INF)
    assert all(abs(v) <= 65504 for v in t.tolist())
    for options in (
        {"low": 1, "high": 0},
        {"low": NAN},
        {"requires_grad": True},
        {"noncontiguous": True, "memory_format": flambeau.contiguous_format},
    ):
        with pytest.raises(ValueError):
            make_tensor(2, dtype=flambeau.int32, device="cpu", **options)
