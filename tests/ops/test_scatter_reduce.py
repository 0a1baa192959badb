"""Reductions at positions: scatter_reduce, index_reduce, segment_reduce, put; copies of views."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

MODES = {
    "sum": numpy.add,
    "prod": numpy.multiply,
    "amax": numpy.maximum,
    "amin": numpy.minimum,
    "mean": numpy.add,
}
START = {"sum": 0, "mean": 0, "prod": 1, "amax": -numpy.inf, "amin": numpy.inf}


def expected(self, dim, index, src, mode, include_self):
    out = self.astype(float)
    counts = numpy.full(self.shape, int(include_self))
    places = list(numpy.ndindex(index.shape))

    def target(place):
        return (*place[:dim], index[place], *place[dim + 1 :])

    if not include_self:
        for place in places:
            out[target(place)] = START[mode]
    for place in places:
        out[target(place)] = MODES[mode](out[target(place)], src[place])
        counts[target(place)] += 1
    return out / numpy.maximum(counts, 1) if mode == "mean" else out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scatter_reduce(mode, include_self, dim):
    rng = numpy.random.default_rng(0)
    self, src = rng.normal(size=(4, 3)), rng.normal(size=(4, 5))
    index = rng.integers(0, self.shape[dim], (3, 3))
    want = expected(self, dim % 2, index, src, mode, include_self)
    x, i, v = flambeau.tensor(self), flambeau.tensor(index), flambeau.tensor(src)
    got = flambeau.scatter_reduce(x, dim, i, v, mode, include_self=include_self)
    numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    assert flambeau.equal(
        x.t().clone().t().scatter_reduce_(dim, i, v, mode, include_self=include_self), got
    )
    low = x.bfloat16().scatter_reduce(dim, i, v.bfloat16(), mode, include_self=include_self)
    numpy.testing.assert_allclose(low.float().numpy(), want, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("mode", [m for m in MODES if m != "sum"])
def test_index_reduce(mode, include_self):
    rng = numpy.random.default_rng(1)
    self, src, index = rng.normal(size=(3, 4)), rng.normal(size=(3, 6)), rng.integers(0, 4, 6)
    want = expected(self, 1, numpy.tile(index, (3, 1)), src, mode, include_self)
    x, i, v = flambeau.tensor(self), flambeau.tensor(index), flambeau.tensor(src)
    got = x.index_reduce(1, i, v, mode, include_self=include_self)
    numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_integer_means_round_down():
    x, i = flambeau.zeros(2, dtype=flambeau.int64), flambeau.tensor([0, 0])
    v = flambeau.tensor([3, -4])
    assert x.scatter_reduce(0, i, v, "mean", include_self=False).tolist() == [-1, 0]


def test_nan_wins():
    x, i = flambeau.zeros(1), flambeau.tensor([0, 0, 0])
    v = flambeau.tensor([1.0, float("nan"), 2.0])
    for mode in ("amax", "amin", "sum"):
        assert x.scatter_reduce(0, i, v, mode).isnan().all()


@pytest.mark.parametrize("zeros", [0, 1])
def test_gradient_of_products_with_zeros(zeros):
    x = flambeau.tensor([2.0, 3.0], dtype=flambeau.float64, requires_grad=True)
    v = flambeau.tensor([1.5, 4.0, -2.0], dtype=flambeau.float64)
    v[:zeros] = 0
    v.requires_grad_()
    i = flambeau.tensor([0, 0, 1])
    for include_self in (True, False):

        def function(a, b, include_self=include_self):
            return a.scatter_reduce(0, i, b, "prod", include_self=include_self)

        assert gradcheck(function, (x, v))
        assert gradgradcheck(function, (x, v))


def test_two_zeros_of_a_product_refuse_a_second_derivative():
    x = flambeau.ones(1, dtype=flambeau.float64)
    v = flambeau.zeros(2, dtype=flambeau.float64, requires_grad=True)
    out = x.scatter_reduce(0, flambeau.tensor([0, 0]), v, "prod")
    (grad,) = flambeau.autograd.grad(out.sum(), v, create_graph=True)
    assert grad.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        grad.sum().backward()


def test_ties_share_the_gradient():
    x = flambeau.tensor([1.0, 5.0], requires_grad=True)
    v = flambeau.tensor([5.0, 2.0], requires_grad=True)
    x.scatter_reduce(0, flambeau.tensor([1, 0]), v, "amax").sum().backward()
    assert x.grad.tolist() == [0, 0.5] and v.grad.tolist() == [0.5, 1]


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 2.0])
def test_segment_reduce(mode, initial):
    data = numpy.array([1.0, 2.0, 3.0, 5.0])
    x = flambeau.tensor(data, requires_grad=True)
    start = [] if initial is None else [initial]
    parts = [[*start, *data[:2]], start, [*start, *data[2:]]]
    function = {"sum": sum, "mean": numpy.mean, "max": max, "min": min, "prod": numpy.prod}[mode]
    empty = {"sum": 0, "mean": numpy.nan, "max": -numpy.inf, "min": numpy.inf, "prod": 1}[mode]
    lengths = flambeau.tensor([2, 0, 2])
    if mode == "mean" and initial is not None:
        want = [sum(p) / max(len(p) - 1, 1) for p in parts]
    else:
        want = [function(p) if p else empty for p in parts]
    kwargs = {} if initial is None else {"initial": initial}
    got = flambeau.segment_reduce(x, mode, lengths=lengths, **kwargs)
    numpy.testing.assert_allclose(got.detach().numpy(), want)
    offsets = flambeau.segment_reduce(x, mode, offsets=flambeau.tensor([0, 2, 2, 4]), **kwargs)
    assert flambeau.allclose(offsets, got, equal_nan=True)
    full = flambeau.tensor([2, 2])
    assert gradcheck(lambda t: flambeau.segment_reduce(t, mode, lengths=full, **kwargs), (x,))


def test_segments_of_rows():
    x = flambeau.arange(12.0).reshape(2, 6)
    lengths = flambeau.tensor([[2, 4], [3, 3]])
    assert flambeau.segment_reduce(x, "sum", lengths=lengths, axis=1).tolist() == [
        [1, 14],
        [21, 30],
    ]
    columns = flambeau.segment_reduce(x, "max", lengths=flambeau.tensor([2]))
    assert columns.tolist() == [x[1].tolist()]


def test_put():
    x = flambeau.arange(6.0).reshape(2, 3)
    i, v = flambeau.tensor([[4, -6]]), flambeau.tensor([[10.0, 20.0]])
    assert x.t().put(i, v).t().tolist() == [[20, 1, 10], [3, 4, 5]]
    assert x.put(i, v, accumulate=True).tolist() == [[20, 1, 2], [3, 14, 5]]
    assert x.put_(i, v) is x and x[1, 1] == 10


def test_nonzero_static():
    x = flambeau.tensor([[0, 1], [1, 1]])
    assert flambeau.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=9).tolist() == [[0, 1], [1, 0], [1, 1], [9, 9]]


def test_as_strided_scatter_keeps_the_layout():
    base = flambeau.arange(12.0).reshape(3, 4)
    x = base.t()[1:]
    out = x.as_strided_scatter(flambeau.tensor([-1.0, -2.0]), (2,), (4,), 1)
    assert out.stride() == x.stride() and out.storage_offset() == x.storage_offset()
    assert out.tolist() == [[-1, -2, 9], [2, 6, 10], [3, 7, 11]]
    assert base[0].tolist() == [0, 1, 2, 3]


COPIES = {
    "permute": ((1, 0),),
    "transpose": (0, 1),
    "select": (0, 1),
    "diagonal": (1,),
    "unfold": (1, 2, 1),
    "unsqueeze": (0,),
    "squeeze": (),
    "expand": ((2, 2, 3),),
    "view": ((3, 2),),
    "as_strided": ((2, 2), (1, 2)),
    "alias": (),
    "detach": (),
    "t": (),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views(name):
    x = flambeau.arange(6.0).reshape(2, 3)
    shown = getattr(flambeau._C.ops, name)(x, *COPIES[name])
    copy = getattr(flambeau, f"{name}_copy")(x, *COPIES[name])
    assert flambeau.equal(copy, shown) and copy.is_contiguous()
    assert copy.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert not copy._is_view()


def test_copies_of_several_views():
    x = flambeau.arange(6.0)
    for parts in (
        flambeau.split_copy(x, 4),
        flambeau.split_with_sizes_copy(x, (4, 2)),
        flambeau.unbind_copy(x.reshape(2, 3)),
    ):
        joined = flambeau.cat(parts)
        assert flambeau.equal(joined, x)
        assert all(p.untyped_storage().data_ptr() != x.untyped_storage().data_ptr() for p in parts)
    assert flambeau.view_copy(x.reshape(2, 3).t(), (6,)).tolist() == [0, 3, 1, 4, 2, 5]


def test_empty_permuted():
    assert flambeau.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)


X, AT, V = flambeau.ones(3), flambeau.tensor([0, 2]), flambeau.ones(2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: X.scatter_reduce(0, AT, V, "add"), RuntimeError, "sum, prod, mean, amax or amin"),
        (lambda: X.scatter_reduce(0, AT, V.double(), "sum"), RuntimeError, "dtype"),
        (
            lambda: X.scatter_reduce(0, AT + 5, V, "sum"),
            RuntimeError,
            "out of bounds",
        ),
        (
            lambda: X.cfloat().scatter_reduce(0, AT, V.cfloat(), "amax"),
            NotImplementedError,
            "order",
        ),
        (lambda: X.bool().scatter_reduce(0, AT, V.bool(), "mean"), NotImplementedError, "Bool"),
        (lambda: X.index_reduce(0, AT, V, "sum"), RuntimeError, "prod, mean, amax or amin"),
        (lambda: X.index_reduce(0, AT, X, "prod"), RuntimeError, "Number of indices"),
        (lambda: X.index_reduce(0, AT + 5, V, "prod"), IndexError, "out of bounds"),
        (lambda: X.put(AT + 5, V), IndexError, "out of range"),
        (lambda: X.put(AT.int(), V), RuntimeError, "long tensor"),
        (lambda: X.put(AT, X), IndexError, "same number of elements"),
        (lambda: flambeau.nonzero_static(X, size=-1), RuntimeError, "non-negative"),
        (lambda: flambeau.empty_permuted((2, 3), (0,)), RuntimeError, "physical_layout"),
        (lambda: flambeau.empty_permuted((2, 3), (0, 0)), RuntimeError, "Duplicate dim"),
        (lambda: flambeau.constant_pad_nd(X, (1, 1, 1, 1)), RuntimeError, "no more than twice"),
        (lambda: flambeau.segment_reduce(X, "sum"), RuntimeError, "lengths or offsets"),
        (lambda: flambeau.segment_reduce(X, "sum", lengths=AT), RuntimeError, "sum to"),
        (lambda: flambeau.segment_reduce(X, "sum", lengths=AT - 1), RuntimeError, "negative"),
        (lambda: X.as_strided_scatter(V, (3,), (1,)), RuntimeError, "src size"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
