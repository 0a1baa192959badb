"""The Tensor object: creation, dtypes, numbers, copies, identity, attributes."""

from __future__ import annotations

import copy
import gc
import json
import math
import operator
import pathlib
import pickle
import weakref

import pytest

import flambeau

# PyTorch's table
PROMOTION = json.loads((pathlib.Path(__file__).parent / "data" / "promotion.json").read_text())
DTYPES = PROMOTION["dtypes"]


def dtype(name):
    return getattr(flambeau, name)


# ---- creation ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, name, shape",
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (2.5, "float32", ()),
        (1j, "complex64", ()),
        ([], "float32", (0,)),
        ([[]], "float32", (1, 0)),
        ([1, 2.0], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([1, 2j], "complex64", (2,)),
        ([[1], [2]], "int64", (2, 1)),
        (range(3), "int64", (3,)),
        ((1.0, 2.0), "float32", (2,)),
    ],
)
def test_inferred_dtypes(data, name, shape):
    t = flambeau.tensor(data)
    assert t.dtype is dtype(name) and tuple(t.shape) == shape


def test_default_dtype():
    flambeau.set_default_dtype(flambeau.float64)
    assert flambeau.tensor(1.0).dtype is flambeau.ones(1).dtype is flambeau.float64
    assert flambeau.tensor(1j).dtype is flambeau.complex128
    assert (flambeau.tensor([1, 2]) / 2).dtype is flambeau.float64
    with pytest.raises(TypeError):
        flambeau.set_default_dtype(flambeau.int64)


@pytest.mark.parametrize(
    "data, options, kind, text",
    [
        (None, {}, RuntimeError, "Could not infer dtype of NoneType"),
        ({1, 2}, {}, RuntimeError, "Could not infer dtype of set"),
        ({1: 2}, {}, RuntimeError, "Could not infer dtype of dict"),
        ((i for i in range(3)), {}, RuntimeError, "Could not infer dtype of generator"),
        ([object()], {}, RuntimeError, "Could not infer dtype of object"),
        ("abc", {}, TypeError, "invalid data type 'str'"),
        ([[1, 2], [3]], {}, ValueError, "expected sequence of length 2 at dim 1"),
        ([[1, 2], 3], {}, TypeError, "not a sequence"),
        ([1, [2]], {}, TypeError, "list"),
        ([2**63], {}, ValueError, "Overflow when unpacking long"),
        (
            [300],
            {"dtype": flambeau.uint8},
            RuntimeError,
            "value cannot be converted to type uint8 without overflow",
        ),
        ([math.nan], {"dtype": flambeau.int32}, RuntimeError, "without overflow"),
        ([1e19], {"dtype": flambeau.int64}, RuntimeError, "without overflow"),
        ([1j], {"dtype": flambeau.float32}, TypeError, "complex"),
        ([1], {"requires_grad": True}, RuntimeError, "floating point"),
    ],
)
def test_refused_data(data, options, kind, text):
    with pytest.raises(kind, match=text):
        flambeau.tensor(data, **options)


def test_values_at_the_edge_of_a_dtype():
    assert flambeau.tensor([-1], dtype=flambeau.uint8).tolist() == [255]
    assert flambeau.tensor([-128, 127], dtype=flambeau.int8).tolist() == [-128, 127]
    assert flambeau.tensor([-(2**63), 2**63 - 1]).tolist() == [-(2**63), 2**63 - 1]
    assert flambeau.tensor([2**70], dtype=flambeau.float64).item() == float(2**70)
    assert flambeau.tensor([1e10], dtype=flambeau.float16).item() == math.inf
    assert flambeau.tensor([1.9, -1.9], dtype=flambeau.int64).tolist() == [1, -1]
    assert flambeau.tensor([0.0, math.nan, 1j], dtype=flambeau.bool).tolist() == [False, True, True]
    for value in (300, 2.0**70):
        with pytest.raises(RuntimeError, match="without overflow"):
            flambeau.zeros(1, dtype=flambeau.uint8).fill_(value)
        with pytest.raises(RuntimeError, match="without overflow"):
            flambeau.full((1,), value, dtype=flambeau.uint8)


def test_sequences_that_change_while_they_are_read():
    class Number:
        def __init__(self, act):
            self.act = act

        def __float__(self):
            self.act()
            return 1.0

    grown, cleared = [], []
    grown += [Number(lambda: grown.extend([1.0] * 100_000)), 1.0]
    cleared += [Number(cleared.clear) for _ in range(100)]

    class Longer:
        reads = 0

        def __len__(self):
            return 3

        def __getitem__(self, i):
            Longer.reads += 1
            if i >= (3 if Longer.reads < 6 else 100_000):
                raise IndexError
            return 1.0

    endless = []
    endless.append(endless)
    for data in (grown, cleared, Longer(), endless):
        with pytest.raises((RuntimeError, ValueError)):
            flambeau.tensor(data, dtype=flambeau.float32)


@pytest.mark.parametrize(
    "call",
    [
        lambda: flambeau.empty(2**62),
        lambda: flambeau.empty(2**31, 2**31, 4),
        lambda: flambeau.empty(-1),
        lambda: flambeau.ones(1, 1, 1).expand(2**31, 2**31, 4),
        lambda: flambeau.ones(2).resize_(2**62),
        lambda: flambeau.ones(2).resize_(2**32, 2**32),
        lambda: flambeau.ones(2).repeat(2**62),
        lambda: flambeau.ones(4).as_strided((2,), (1,), 2**62),
        lambda: flambeau.ones(4).as_strided((2,), (2**62,)),
        lambda: flambeau.ones(4).as_strided((5,), (1,)),
        lambda: flambeau.ones(4).as_strided((2,), (-1,), 3),
        lambda: flambeau.ones(4).as_strided((2,), (1,), -1),
        lambda: flambeau.ones(4).reshape(2**32, 2**32),
        lambda: flambeau.arange(2**62),
        lambda: flambeau.tril_indices(2**40, 2**40),
        lambda: flambeau.eye(2**40),
        lambda: flambeau.linspace(0, 1, 2**62),
        lambda: flambeau.ones(4).unfold(0, 2**62, 1),
        lambda: flambeau._C.UntypedStorage(2**62),
    ],
)
def test_sizes_beyond_memory(call):
    with pytest.raises((RuntimeError, MemoryError, ValueError, TypeError)):
        call()


# ---- promotion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("left", DTYPES)
def test_promotion(left):
    a = flambeau.ones(2, dtype=dtype(left))
    for k, right in enumerate(DTYPES):
        want = dtype(PROMOTION["tensors"][left][k])
        b = flambeau.ones(2, dtype=dtype(right))
        assert flambeau.promote_types(a.dtype, b.dtype) is want
        assert (a * b).dtype is flambeau.result_type(a, b) is want, right
        want = dtype(PROMOTION["zero_dim"][left][k])
        zero = flambeau.ones((), dtype=dtype(right))
        assert (a * zero).dtype is (zero * a).dtype is want, f"0-d {right}"
        assert flambeau.can_cast(a.dtype, b.dtype) == (right in PROMOTION["can_cast"][left])
    for k, number in enumerate((True, 3, 2.5, 1j)):
        want = dtype(PROMOTION["scalars"][left][k])
        assert (a * number).dtype is (number * a).dtype is want, number


# ---- the number protocol -------------------------------------------------------------------------


def test_numbers():
    t = flambeau.tensor(3)
    assert (int(t), float(t), complex(t), bool(t), operator.index(t)) == (3, 3.0, 3 + 0j, True, 3)
    assert [10, 20, 30, 40][t] == 40 and list(range(t)) == [0, 1, 2]
    assert int(flambeau.tensor(2.9)) == 2 and type(flambeau.tensor(2.5).item()) is float
    assert f"{flambeau.tensor(2.5):.2f}" == "2.50" and math.floor(float(flambeau.tensor(2.5))) == 2
    assert 2 in flambeau.tensor([1, 2]) and 5 not in flambeau.tensor([1, 2])
    for call, kind in (
        (lambda: operator.index(flambeau.tensor(1.0)), TypeError),
        (lambda: bool(flambeau.ones(2)), RuntimeError),
        (lambda: bool(flambeau.ones(0)), RuntimeError),
        (lambda: flambeau.ones(2).item(), RuntimeError),
        (lambda: int(flambeau.tensor(math.nan)), ValueError),
        (lambda: int(flambeau.tensor(math.inf)), OverflowError),
        (lambda: float(flambeau.tensor(1j)), RuntimeError),
        (lambda: len(flambeau.tensor(1)), TypeError),
        (lambda: list(flambeau.tensor(1)), TypeError),
        (lambda: flambeau.ones(2) + "a", TypeError),
    ):
        with pytest.raises(kind):
            call()


@pytest.mark.parametrize(
    "symbol",
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"],
)
def test_operators_follow_python(symbol):
    f = getattr(operator, symbol)
    for a in (7, -7, 2.5, -2.5):
        for b in (2, -2, 0.5):
            t = flambeau.tensor([a], dtype=flambeau.float64)
            want = f(float(a), b)
            if isinstance(want, complex):
                continue
            assert f(t, b).item() == pytest.approx(want)
            assert f(a, flambeau.tensor([b], dtype=flambeau.float64)).item() == pytest.approx(want)
            assert f(t, flambeau.tensor([b], dtype=flambeau.float64)).item() == pytest.approx(want)


@pytest.mark.parametrize(
    "symbol", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]
)
def test_augmented_assignment_keeps_the_object(symbol):
    t = flambeau.tensor([7.0, 2.0])
    f = getattr(operator, symbol)
    assert f(t, 2.0) is t and t.tolist() == [f(7.0, 2.0), f(2.0, 2.0)]


def test_integer_operators():
    a, b = flambeau.tensor([6, -7]), flambeau.tensor([3, 2])
    assert (
        (a & b).tolist() == [2, 0] and (a | b).tolist() == [7, -5] and (a ^ b).tolist() == [5, -5]
    )
    assert (
        (a << 1).tolist() == [12, -14]
        and (a >> 1).tolist() == [3, -4]
        and (~b).tolist() == [-4, -3]
    )
    assert (-a).tolist() == [-6, 7] and abs(a).tolist() == [6, 7] and (+a) is not None
    for call in (
        lambda: a // 0,
        lambda: a % flambeau.tensor([1, 0]),
        lambda: flambeau.fmod(a, 0),
        lambda: 5 // flambeau.tensor([0]),
    ):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call()
    assert (a / 0).tolist() == [math.inf, -math.inf] and (a.double() // 0).tolist() == [
        math.inf,
        -math.inf,
    ]


def test_other_types_are_asked():
    class Other:
        def __radd__(self, left):
            return "radd"

        def __eq__(self, right):
            return "eq"

    assert flambeau.ones(1) + Other() == "radd" and (flambeau.ones(1) == Other()) == "eq"
    with pytest.raises(ZeroDivisionError):
        flambeau.ones(1) * type("F", (), {"__float__": lambda self: 1 / 0})()


# ---- copies and identity -------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_pickle_and_deepcopy(name):
    t = flambeau.arange(6).reshape(2, 3).to(dtype(name))
    for other in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert (
            other.dtype is t.dtype
            and other.tolist() == t.tolist()
            and other.data_ptr() != t.data_ptr()
        )


def test_copies_keep_views_flags_and_attributes():
    base = flambeau.arange(6.0)
    a, b = copy.deepcopy([base, base[2:]])
    b[0] = 99.0
    assert a[2].item() == 99.0 and base[2].item() == 2.0
    leaf = flambeau.ones(2, requires_grad=True)
    leaf.grad = flambeau.ones(2)
    leaf.note = ["kept"]
    other = copy.deepcopy(leaf)
    assert other.requires_grad and other.grad.tolist() == [1.0, 1.0] and other.grad is not leaf.grad
    assert pickle.loads(pickle.dumps(leaf)).requires_grad
    with pytest.raises(RuntimeError, match="leaf|graph leaves"):
        copy.deepcopy(leaf * 2)
    shallow = copy.copy(leaf)
    assert shallow is not leaf and shallow.tolist() == leaf.tolist()


def test_identity():
    x = flambeau.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is x.grad and hash(x) == hash(x) and x.data is not x.data
    grad = x.grad
    grad.note = "kept"
    alive = weakref.ref(grad)
    del grad
    gc.collect()
    assert alive() is x.grad and x.grad.note == "kept"
    x.grad = None
    gc.collect()
    assert alive() is None


def test_objects_survive_inside_the_graph():
    x = flambeau.ones(2, requires_grad=True)
    x.note = "leaf"
    y = x * x
    del x
    gc.collect()
    found = y.grad_fn.next_functions[0][0].variable
    assert found.note == "leaf" and found is y.grad_fn.next_functions[0][0].variable


def test_cycles_are_collected():
    x = flambeau.ones(2)
    x.me = [x]
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_attributes():
    x = flambeau.ones(2)
    for name in ("shape", "real", "data", "requires_grad", "nothing"):
        with pytest.raises((AttributeError, TypeError)):
            delattr(x, name)
    del x.grad
    for name, value, kind in (
        ("grad", 3, TypeError),
        ("grad", flambeau.ones(3), RuntimeError),
        ("grad", flambeau.ones(2, dtype=flambeau.int32), RuntimeError),
        ("grad", flambeau.ones(2, device="meta"), RuntimeError),
        ("data", 3, TypeError),
        ("requires_grad", "a", TypeError),
        ("shape", (3,), AttributeError),
    ):
        with pytest.raises(kind):
            setattr(x, name, value)
    with pytest.raises(RuntimeError, match="own grad"):
        x.grad = x
    with pytest.raises(TypeError):
        type(x.requires_grad_().mul(2).grad_fn)()
