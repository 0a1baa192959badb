"""``_foreach_*`` against the operator on each tensor."""

import pytest

import flambeau
from flambeau import _foreach

SHAPES = ((2,), (3, 2), (), (0,))


def lists(count, dtype=flambeau.float64):
    flambeau.manual_seed(0)
    return [[flambeau.rand(s, dtype=dtype) * 0.8 + 0.1 for s in SHAPES] for _ in range(count)]


def same(got, want):
    assert len(got) == len(want)
    for one, other in zip(got, want):
        assert one.dtype == other.dtype and flambeau.equal(one, other)


@pytest.mark.parametrize("name", _foreach.UNARY)
def test_unary(name):
    (tensors,) = lists(1)
    want = [getattr(flambeau, name)(t) for t in tensors]
    result = getattr(flambeau, f"_foreach_{name}")(tensors)
    assert type(result) is tuple
    same(result, want)
    assert getattr(flambeau, f"_foreach_{name}_")(tensors) is tensors
    same(tensors, want)


@pytest.mark.parametrize("name", _foreach.BINARY)
@pytest.mark.parametrize("operand", ("number", "numbers", "tensors"))
def test_binary(name, operand):
    tensors, others = lists(2)
    numbers = [0.25, 0.5, 2.0, 3.0]
    other = {"number": 0.5, "numbers": numbers, "tensors": others}[operand]
    each = [other] * 4 if operand == "number" else other
    each = [o if isinstance(o, flambeau.Tensor) else flambeau.tensor(o).double() for o in each]
    operator = getattr(flambeau, {"clamp_min": "maximum", "clamp_max": "minimum"}.get(name, name))
    want = [operator(t, o) for t, o in zip(tensors, each)]
    same(getattr(flambeau, f"_foreach_{name}")(tensors, other), want)
    assert getattr(flambeau, f"_foreach_{name}_")(tensors, other) is tensors
    same(tensors, want)


@pytest.mark.parametrize("name", ("addcmul", "addcdiv"))
def test_ternary(name):
    tensors, first, second = lists(3)
    operator = getattr(flambeau, name)
    packed = flambeau.tensor([1.0, 2.0, 3.0, 4.0])
    for value, each in ((0.5, [0.5] * 4), (packed.tolist(), packed.tolist()), (packed, packed)):
        want = [
            operator(t, a, b, value=float(v)) for t, a, b, v in zip(tensors, first, second, each)
        ]
        same(getattr(flambeau, f"_foreach_{name}")(tensors, first, second, value), want)
    getattr(flambeau, f"_foreach_{name}_")(tensors, first, second, scalars=packed)
    same(tensors, want)


def test_the_others():
    tensors, ends, weights = lists(3)
    same(
        flambeau._foreach_lerp(tensors, ends, 0.5), [t.lerp(e, 0.5) for t, e in zip(tensors, ends)]
    )
    want = [t.lerp(e, w) for t, e, w in zip(tensors, ends, weights)]
    same(flambeau._foreach_lerp(tensors, ends, weights), want)
    same(flambeau._foreach_norm(tensors, 1), [t.abs().sum() for t in tensors])
    assert flambeau._foreach_norm([flambeau.ones(2).half()], 2, flambeau.float32)[0].item() == (
        pytest.approx(2**0.5)
    )
    same(flambeau._foreach_powsum(tensors, 3), [t.pow(3).sum() for t in tensors])
    same(flambeau._foreach_max(tensors[:3]), [t.max() for t in tensors[:3]])
    same(flambeau._foreach_pow(2.0, tensors), [2.0**t for t in tensors])
    same(flambeau._foreach_add(tensors, ends, alpha=2), [t + 2 * e for t, e in zip(tensors, ends)])
    same(flambeau._foreach_add(tensors, flambeau.tensor(2.0)), [t + 2 for t in tensors])
    same(flambeau._foreach_mul(tensors, scalar=2), [t * 2 for t in tensors])
    matrix = flambeau.eye(2)
    same(flambeau._foreach_mm([matrix], [matrix + 1]), [matrix + 1])
    copies = flambeau._foreach_clone(tensors)
    flambeau._foreach_copy_(tensors, ends)
    same(tensors, ends)
    flambeau._foreach_zero_(tensors)
    assert not any(t.any() for t in tensors) and copies[0].all()


def test_gradients():
    leaf = flambeau.tensor([1.0, 2.0], requires_grad=True)
    flambeau._foreach_mul([leaf], [leaf])[0].sum().backward()
    assert leaf.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="leaf"):
        flambeau._foreach_add_([leaf], 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: flambeau._foreach_add([], 1), RuntimeError, "at least one tensor"),
        (lambda t: flambeau._foreach_add([t], [t, t]), RuntimeError, "got 1 and 2"),
        (lambda t: flambeau._foreach_add([t], [1.0, 2.0]), RuntimeError, "elements as scalar list"),
        (lambda t: flambeau._foreach_add([t], t), RuntimeError, "0 dim but it has 1 dimensions"),
        (lambda t: flambeau._foreach_add(t, 1), TypeError, "invalid combination"),
        (
            lambda t: flambeau._foreach_sub([t], flambeau.tensor(1)),
            TypeError,
            "invalid combination",
        ),
        (lambda t: flambeau._foreach_mul([t], 2, alpha=2), TypeError, "alpha"),
        (
            lambda t: flambeau._foreach_addcmul([t], [t], [t], flambeau.ones(2)),
            RuntimeError,
            "length 1 but got 2",
        ),
        (
            lambda t: flambeau._foreach_addcmul([t], [t], [t], flambeau.tensor(2.0)),
            RuntimeError,
            "dimension 1. Got 0",
        ),
        (lambda t: flambeau._foreach_max([t[:0]]), RuntimeError, "empty tensor"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(flambeau.ones(2))
