"""Indexing against NumPy: random index expressions for reading and writing, errors, gradients."""

from __future__ import annotations

import numpy
import pytest

import flambeau

SHAPES = [(5,), (4, 3), (2, 3, 4), (3, 1, 2, 2), (0, 3), (2, 0)]
PER_SEED = 50


# ---- random index expressions --------------------------------------------------------------------


def integer(rng, size):
    return int(rng.integers(-size, size))


def a_slice(rng, size):
    def bound():
        return None if rng.random() < 0.3 else int(rng.integers(-size - 2, size + 3))

    step = None if rng.random() < 0.5 else int(rng.integers(1, 4))
    return slice(bound(), bound(), step)


def positions(rng, size, shape):
    return rng.integers(-size, size, shape)


def index_of(rng, shape, advanced):
    """A valid index of an array of this shape: a tuple of parts."""
    parts, dim = [], 0
    together = [(), (2,), (3, 1), (2, 2)][rng.integers(4)]
    # NumPy counts an integer beside index arrays as one, PyTorch selects first: not mixed here
    integers = not (advanced and together)
    last = rng.integers(0, len(shape) + 1)
    while dim < last:
        size, kind = shape[dim], rng.random()
        if kind < 0.1:
            parts.append(None)
        elif kind < 0.3 and size and integers:
            parts.append(integer(rng, size))
            dim += 1
        elif kind < 0.55 and advanced and size:
            parts.append(positions(rng, size, together))
            dim += 1
        elif kind < 0.65 and advanced and together == (2,):
            width = int(rng.integers(1, len(shape) - dim + 1))
            mask = numpy.zeros(shape[dim : dim + width], bool)
            if mask.size >= 2:
                mask.reshape(-1)[rng.permutation(mask.size)[:2]] = True
                parts.append(mask)
                dim += width
        else:
            parts.append(a_slice(rng, size))
            dim += 1
    if rng.random() < 0.25:
        parts.insert(int(rng.integers(len(parts) + 1)), Ellipsis)
    return tuple(parts)


def as_ours(part, rng):
    """Arrays become tensors or, at times, lists."""
    if isinstance(part, numpy.ndarray):
        if part.ndim and part.size and rng.random() < 0.2:
            return part.tolist()
        return flambeau.tensor(
            part.tolist(), dtype=flambeau.bool if part.dtype == bool else flambeau.int64
        ).reshape(part.shape)
    return part


def cases(seed, advanced):
    rng = numpy.random.default_rng(seed)
    for _ in range(PER_SEED):
        shape = SHAPES[rng.integers(len(SHAPES))]
        index = index_of(rng, shape, advanced)
        array = numpy.arange(numpy.prod(shape), dtype=numpy.float64).reshape(shape)
        try:
            expected = array[index]
        except IndexError:
            continue
        ours = tuple(as_ours(part, rng) for part in index)
        if len(ours) == 1 and not isinstance(ours[0], list) and rng.random() < 0.5:
            ours = ours[0]
        yield array, index, ours, expected, rng


def tensor_of(array):
    return flambeau.tensor(array.tolist(), dtype=flambeau.float64).reshape(array.shape)


@pytest.mark.parametrize("advanced", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_get(seed, advanced):
    for array, index, ours, expected, rng in cases(seed, advanced):
        x = tensor_of(array)
        if rng.random() < 0.3:  # another layout of the same values
            x = tensor_of(array.T.copy()).permute(*reversed(range(array.ndim)))
        got = x[ours]
        text = f"{array.shape} {index}"
        assert tuple(got.shape) == expected.shape, text
        assert got.tolist() == expected.tolist(), text
        if not any(isinstance(p, numpy.ndarray) for p in index) and got.numel():
            assert got.untyped_storage()._cdata == x.untyped_storage()._cdata, f"{text} is a view"


@pytest.mark.parametrize("advanced", [False, True])
@pytest.mark.parametrize("seed", range(100, 110))
def test_set(seed, advanced):
    for array, index, ours, expected, rng in cases(seed, advanced):
        kind = rng.integers(3)
        if kind == 0:
            value = theirs = -7.0
        else:
            shape = expected.shape
            if kind == 2 and shape:  # broadcast
                shape = tuple(1 if rng.random() < 0.4 else s for s in shape)[
                    rng.integers(len(shape)) :
                ]
            theirs = -1.0 - numpy.arange(numpy.prod(shape), dtype=numpy.float64).reshape(shape)
            value = tensor_of(theirs)
        x, want = tensor_of(array), array.copy()
        flat = numpy.arange(array.size).reshape(array.shape)[index]
        if len(numpy.unique(flat)) < flat.size:
            theirs = value = 3.0  # which of several values stays is not defined
        want[index] = theirs
        x[ours] = value
        assert x.tolist() == want.tolist(), f"{array.shape} {index} = {theirs}"


# ---- views and copies ----------------------------------------------------------------------------


def test_basic_indexing_gives_views():
    x = flambeau.zeros(3, 4)
    for view in (x[0], x[:], x[...], x[None], x[1:, ::2], x[(slice(None), 1)]):
        assert view is not x and view.untyped_storage()._cdata == x.untyped_storage()._cdata
    x[0][1] = 5.0
    assert x[0, 1].item() == 5.0
    copy = x[flambeau.tensor([0])]
    copy += 1
    assert x[0, 0].item() == 0.0


def test_scalars_dtypes_and_sequences_as_values():
    x = flambeau.zeros(2, 3, dtype=flambeau.int64)
    x[0] = 2.7
    x[1] = [4, 5, 6]
    x[:, 0] = flambeau.tensor(9.9)
    x[0, 1] = True
    assert x.tolist() == [[9, 1, 2], [9, 5, 6]]
    x[:, 1:] = flambeau.ones(1, 1, 2, 2)
    assert x.tolist() == [[9, 1, 1], [9, 1, 1]]
    x[x > 5] = 0
    assert x.tolist() == [[0, 1, 1], [0, 1, 1]]
    y = flambeau.zeros(2)
    y[flambeau.tensor([0])] = flambeau.tensor([1], dtype=flambeau.int32)
    assert y.tolist() == [1.0, 0.0]


def test_lists_numpy_and_0d_indices():
    x = flambeau.arange(12).reshape(3, 4)
    assert x[[0, 2]].tolist() == x[flambeau.tensor([0, 2])].tolist()
    assert x[[True, False, True]].shape == (2, 4)
    assert x[numpy.array([1])].tolist() == [[4, 5, 6, 7]]
    assert x[numpy.int64(1), flambeau.tensor(2)].item() == 6
    assert x[flambeau.tensor(True)].shape == (1, 3, 4) and x[False].shape == (0, 3, 4)
    assert x[[0, 1], [1, 2]].tolist() == [1, 6]
    assert x[flambeau.tensor([], dtype=flambeau.int64)].shape == (0, 4) and x[[]].shape == (0, 4)
    assert x[flambeau.tensor([1, 0, 1], dtype=flambeau.uint8) > 0].shape == (2, 4)
    zero = flambeau.tensor(5.0)
    assert zero[...].item() == zero[None].item() == 5.0
    zero[...] = 6.0
    zero[()] = zero + 1
    assert zero.item() == 7.0


def test_accumulating_and_repeated_indices():
    x = flambeau.zeros(4)
    x.index_put_((flambeau.tensor([1, 1, 3]),), flambeau.ones(3), accumulate=True)
    assert x.tolist() == [0.0, 2.0, 0.0, 1.0]
    i = flambeau.tensor([3, 2, 1, 0])
    i[i] = i  # all values and positions are read before the first is written
    assert i.tolist() == [0, 1, 2, 3]


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index, kind, text",
    [
        (5, IndexError, "out of range|out of bounds"),
        (-3, IndexError, "out of range|out of bounds"),
        (2**70, ValueError, "Overflow when unpacking long long"),
        ((0, 0, 0), IndexError, "too many indices"),
        (flambeau.tensor([5]), IndexError, "out of bounds"),
        (flambeau.tensor([1.0]), IndexError, "tensors used as indices must be"),
        (
            flambeau.tensor([True, False, True]),
            IndexError,
            "does not match the shape of the indexed tensor",
        ),
        ("a", IndexError, "only integers, slices"),
        ({}, IndexError, "only integers, slices"),
        (1.5, IndexError, "only integers, slices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "step"),
        (slice(1.5, None), TypeError, ""),
        (([0, 1], [0, 1, 2]), IndexError, "shape mismatch"),
        ((Ellipsis, Ellipsis, 0), IndexError, "ellipsis"),
    ],
    ids=repr,
)
def test_errors(index, kind, text):
    x = flambeau.ones(2, 3)
    before = x.tolist()
    with pytest.raises(kind, match=text or None):
        x[index]
    with pytest.raises(kind, match=text or None):
        x[index] = 0.0
    assert x.tolist() == before


def test_errors_of_values():
    x = flambeau.ones(2)
    for value, kind in (
        ("a", TypeError),
        (None, (TypeError, RuntimeError)),
        ([1, 2, 3], RuntimeError),
        (flambeau.ones(5), RuntimeError),
    ):
        with pytest.raises(kind):
            x[:] = value
    with pytest.raises(RuntimeError):
        x[flambeau.tensor([0])] = flambeau.ones(5)
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(IndexError):
        flambeau.tensor(1.0)[0]
    assert x.tolist() == [1.0, 1.0]


def test_meta():
    x = flambeau.empty(3, 4, device="meta")
    assert x[1:, None, 2].shape == (2, 1) and x[flambeau.tensor([0, 0, 1])].shape == (3, 4)
    x[0] = 5.0
    x[flambeau.tensor([1])] = 2.0
    with pytest.raises((NotImplementedError, RuntimeError)):
        flambeau.ones(2)[0] = flambeau.ones((), device="meta")


# ---- gradients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200, 204))
def test_gradients_of_get(seed):
    """The gradient counts how often each element was read."""
    for array, index, ours, expected, _ in cases(seed, True):
        x = tensor_of(array).requires_grad_()
        weights = numpy.arange(1.0, expected.size + 1).reshape(expected.shape)
        (x[ours] * tensor_of(weights)).sum().backward()
        want = numpy.zeros(array.shape)
        numpy.add.at(want, index, weights)
        assert x.grad.tolist() == want.tolist(), f"{array.shape} {index}"


@pytest.mark.parametrize("seed", range(300, 304))
def test_gradients_of_set(seed):
    for array, index, ours, expected, _ in cases(seed, True):
        flat = numpy.arange(array.size).reshape(array.shape)[index]
        if len(numpy.unique(flat)) < flat.size:
            continue
        x = tensor_of(array).requires_grad_()
        value = tensor_of(numpy.ones(expected.shape)).requires_grad_()
        y = x * 2
        y[ours] = value
        weights = numpy.arange(1.0, array.size + 1).reshape(array.shape)
        (y * tensor_of(weights)).sum().backward()
        want = 2 * weights
        want[index] = 0.0
        assert x.grad.tolist() == want.tolist(), f"{array.shape} {index}"
        assert value.grad.tolist() == weights[index].tolist(), f"{array.shape} {index}"


def test_bytes_seen_as_booleans():
    x = flambeau.tensor([0, 2, 128, 1], dtype=flambeau.uint8).view(flambeau.bool)
    assert x.tolist() == [False, True, True, True] and x[2].item() is True
    assert x.nonzero().tolist() == [[1], [2], [3]] and x.sum() == 3
    assert flambeau.ones(4).masked_scatter(x, flambeau.zeros(4)).tolist() == [1, 0, 0, 0]
    assert flambeau.ones(4)[x].shape == (3,)


# ---- strides of results --------------------------------------------------------------------------

# What PyTorch 2.13 gives: dimensions lie in the order of those of the tensor, then of the indices.
STRIDES = {
    "t[:, [0,1]]": (1, 5, 10),
    "t[i]": (12, 1, 4),
    "t[:, :, i]": (2, 10, 1),
    "t[i, i]": (3, 1),
    "t[:, i, i]": (2, 1),
    "t[i, :, i]": (4, 1),
    "t[j]": (24, 12, 1, 4),
    "t[:, j]": (1, 10, 5, 20),
    "t[:, :, j]": (4, 20, 2, 1),
    "r.permute(1,2,0)[i]": (15, 1, 5),
    "r.permute(1,2,0)[:, i]": (1, 4, 8),
    "r.permute(1,2,0)[:, :, i]": (10, 2, 1),
    "r.permute(1,0,2)[:, i]": (10, 5, 1),
    "r.permute(1,0,2)[i]": (15, 5, 1),
    "r.permute(1,0,2)[..., i]": (2, 8, 1),
    "r.permute(0,2,1)[..., i]": (10, 2, 1),
    "r.permute(0,2,1)[:, i]": (8, 4, 1),
    "r.permute(0,2,1)[i]": (20, 1, 5),
    "r.permute(0,2,1)[i, :, i]": (5, 1),
    "zeros(2,3,4,5).to(memory_format=channels_last)[i]": (60, 1, 15, 3),
    "zeros(2,3,4,5).to(memory_format=channels_last)[:, i]": (40, 20, 5, 1),
    "zeros(2,3,4,5).to(memory_format=channels_last)[:, :, i]": (30, 1, 3, 6),
    "zeros(2,3,4,5).to(memory_format=channels_last)[:, :, i, i]": (6, 2, 1),
    "zeros(2,3,4,5).to(memory_format=channels_last)[i, :, i]": (15, 1, 3),
    "zeros(4,1).expand(4,3)[i]": (3, 1),
    "zeros(1,4).expand(3,4)[i]": (4, 1),
    "zeros(1,4).expand(3,4)[:, i]": (2, 1),
    "zeros(1,4).expand(3,4).t()[:, i]": (2, 1),
    "t[None, i]": (24, 12, 1, 4),
    "t[:, None, i]": (1, 30, 5, 10),
    "t[:, i.view(2,1), i]": (4, 2, 1),
    "t[t == 0]": (1,),
    "t[:, tensor([True,False,True,True])]": (1, 5, 15),
    "zeros(5,4).t()[j.t()]": (5, 10, 1),
    "zeros(5,4)[j.t()]": (4, 8, 1),
    "zeros(5,4)[zeros(2,3,dtype=long).t()]": (4, 12, 1),
    "zeros(5,4)[:, zeros(2,3,dtype=long).t()]": (6, 1, 3),
    "zeros(5)[zeros(2,3,dtype=long).t()]": (1, 3),
    "zeros(5,4).t()[:, zeros(2,3,dtype=long).t()]": (6, 1, 3),
    "t[zeros(2,3,dtype=long).t()]": (12, 36, 1, 4),
    "t[zeros(2,3,dtype=long).t(), :, zeros(2,3,dtype=long)[:1,:].t()]": (4, 12, 1),
    "zeros(6,5,4)[::2].transpose(0,1)[i]": (12, 4, 1),
    "zeros(6,5,4)[:, ::2, ::2].transpose(0,1)[i]": (12, 2, 1),
    "zeros(1,5,4).transpose(0,1)[i]": (4, 4, 1),
    "zeros(1,5,4).transpose(0,2)[i]": (5, 1, 5),
    "zeros(1,5,4).transpose(0,2)[:, i]": (1, 4, 8),
    "zeros(3,0,4).transpose(0,2)[i]": (0, 1, 0),
    "zeros(3,4,5).transpose(0,2)[zeros(0,dtype=long)]": (12, 1, 4),
    "zeros(3,4,5).transpose(0,2)[:, zeros(0,dtype=long)]": (1, 5, 0),
    "t[[0]]": (12, 1, 4),
    "t[tensor(1)]": (5, 20),
    "t[:, tensor(1)]": (1, 20),
    "t[tensor([1])]": (12, 1, 4),
    "t[:, :, tensor([1])]": (1, 5, 1),
    "t[..., i, 0]": (2, 1),
    "t[i, 0]": (3, 1),
    "t[0, i]": (3, 1),
    "t[1:, i]": (1, 4, 8),
    "t[zeros(2,4,dtype=long), zeros(2,1,dtype=long), zeros(1,4,dtype=long)]": (4, 1),
}


@pytest.mark.parametrize("expression", STRIDES)
def test_strides(expression):
    r = flambeau.zeros(3, 4, 5)
    scope = {
        "zeros": flambeau.zeros,
        "tensor": flambeau.tensor,
        "long": flambeau.long,
        "channels_last": flambeau.channels_last,
        "r": r,
        "t": r.transpose(0, 2),
        "i": flambeau.tensor([0, 1]),
        "j": flambeau.tensor([[0, 1], [1, 0]]),
    }
    found = eval(expression, scope)
    assert found.stride() == STRIDES[expression]
    on_meta = {k: v.to("meta") if k in ("r", "t") else v for k, v in scope.items()}
    if expression.startswith(("r", "t[")) and "True" not in expression and "==" not in expression:
        assert eval(expression, on_meta).stride() == STRIDES[expression]


def test_values_of_permuted_results():
    a = numpy.arange(120.0).reshape(2, 3, 4, 5)
    t = flambeau.tensor(a.tolist())
    at, rows = [1, 0, 1], [[0, 1], [1, 0], [1, 1]]
    for order in ((3, 0, 2, 1), (1, 3, 0, 2), (2, 1, 3, 0)):
        x, y = a.transpose(order), t.permute(order)
        for index in (
            (at,),
            (slice(None), at),
            (slice(None), slice(None), at),
            (Ellipsis, at),
            (rows,),
            (slice(None), rows),
            (at, slice(None), at),
            (slice(None), at, at),
            (None, slice(None), rows),
        ):
            assert numpy.array_equal(y[index].numpy(), x[index]), (order, index)
