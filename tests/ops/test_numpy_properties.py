"""Random calls beside NumPy: broadcasting, promotion, indexing and reductions agree always."""

from __future__ import annotations

import random
import warnings

import numpy
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import flambeau

EACH = 10  # cases of one example: drawing dominates the time
CASES = settings(
    max_examples=2000 // EACH,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
KINDS = {
    "bool": ("bool",),
    "integer": ("uint8", "int8", "int16", "int32", "int64"),
    "float": ("float32", "float64"),
    "complex": ("complex64", "complex128"),
}
ORDER = list(KINDS)
KIND = {dtype: kind for kind, dtypes in KINDS.items() for dtype in dtypes}
EVERY = [d for dtypes in KINDS.values() for d in dtypes]
SEEDS = st.integers(0, 2**32 - 1)
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def choices(seed):
    """A generator of choices for each case of an example."""
    for number in range(EACH):
        yield random.Random(seed * EACH + number)


def array(shape, dtype, seed):
    """Small whole numbers: every result below is exact in every dtype, up to divisions."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(0 if dtype in ("bool", "uint8") else -4, 5, shape)
    if KIND[dtype] == "complex":
        values = values + 1j * rng.integers(-4, 5, shape)
    return numpy.asarray(values).astype(dtype)


def tensor(values, turned=False):
    """The array as a tensor, laid out with its dimensions in reverse when ``turned``."""
    if not turned:
        return flambeau.tensor(values)
    order = tuple(reversed(range(values.ndim)))
    return flambeau.tensor(values.transpose(order).copy(order="C")).permute(order)


def agree(got, want, rtol=0.0):
    want = numpy.asarray(want)
    assert tuple(got.shape) == want.shape
    assert str(got.dtype) == f"torch.{want.dtype}"
    if rtol:
        numpy.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=rtol, equal_nan=True)
    else:
        numpy.testing.assert_array_equal(got.numpy(), want)


# ---- broadcasting --------------------------------------------------------------------------------

TWO = {
    "add": numpy.add,
    "sub": numpy.subtract,
    "mul": numpy.multiply,
    "maximum": numpy.maximum,
    "minimum": numpy.minimum,
    "lt": numpy.less,
    "eq": numpy.equal,
    "ge": numpy.greater_equal,
}


@CASES
@given(full=SHAPES, seed=SEEDS)
def test_broadcasting(full, seed):
    for r in choices(seed):
        broadcast_once(full, r)


def broadcast_once(full, r):
    sides = []
    for _ in range(2):
        shape = [1 if r.random() < 0.3 else s for s in full]
        sides.append(shape[r.randint(0, len(shape)) if r.random() < 0.5 else 0 :])
    if r.random() < 0.1 and sides[0]:
        sides[0][-1] += 1
    dtype, name = r.choice(["int64", "float64", "int16"]), r.choice(sorted(TWO))
    a, b = (array(side, dtype, r.getrandbits(32)) for side in sides)
    x, y = tensor(a, r.random() < 0.5), tensor(b, r.random() < 0.5)
    try:
        want = TWO[name](a, b)
    except ValueError:
        with pytest.raises(RuntimeError, match="size"):
            getattr(flambeau, name)(x, y)
        return
    agree(getattr(flambeau, name)(x, y), want)
    assert flambeau.broadcast_shapes(a.shape, b.shape) == want.shape
    both = flambeau.broadcast_tensors(x, y)
    agree(both[0], numpy.broadcast_to(a, want.shape))
    agree(both[1], numpy.broadcast_to(b, want.shape))


# ---- promotion -----------------------------------------------------------------------------------


def promoted(a, b):
    """NumPy's rule within a kind; of two kinds the higher one decides, as PyTorch has it."""
    low, high = sorted((a, b), key=lambda d: ORDER.index(KIND[d]))
    if KIND[low] == KIND[high] or KIND[high] == "complex" and KIND[low] == "float":
        return str(numpy.promote_types(a, b))
    return high


def weak(dtype, kind):
    """The dtype beside a number, or a 0-d tensor, of a kind."""
    if ORDER.index(kind) <= ORDER.index(KIND[dtype]):
        return dtype
    if kind == "complex":
        return "complex128" if dtype == "float64" else "complex64"
    return {"integer": "int64", "float": "float32"}[kind]


@CASES
@given(seed=SEEDS)
def test_promotion(seed):
    for r in choices(seed):
        dims = r.randint(0, 2), r.randint(0, 2)
        promote_once(r.choice(EVERY), r.choice(EVERY), dims, r)


def promote_once(a, b, dims, r):
    number = r.choice([None, None, True, 3, 2.0, 1 + 1j])
    left, right = (array((2, 2)[:n], d, r.getrandbits(32)) for n, d in zip(dims, (a, b)))
    x = tensor(left)
    if number is not None:
        kind = {bool: "bool", int: "integer", float: "float", complex: "complex"}[type(number)]
        want, right, y = weak(a, kind), numpy.asarray(number), number
    else:
        y = tensor(right)
        if bool(dims[0]) == bool(dims[1]):
            want = promoted(a, b)
        else:
            strong, loose = (a, b) if dims[0] else (b, a)
            lower = ORDER.index(KIND[loose]) <= ORDER.index(KIND[strong])
            want = strong if lower else loose
            if KIND[strong] == "float" and KIND[loose] == "complex":
                want = weak(strong, "complex")  # of the precision that has dimensions
    assert str(flambeau.result_type(x, y)) == f"torch.{want}"
    if number is None:
        assert str(flambeau.promote_types(x.dtype, y.dtype)) == f"torch.{promoted(a, b)}"
    if number is None or numpy.result_type(left.dtype, want) == want:
        with numpy.errstate(over="ignore"):
            agree(x + y, left.astype(want) + right.astype(want))
            agree(x * y, left.astype(want) * right.astype(want))
            agree(x == y, left.astype(want) == right.astype(want))


# ---- indexing ------------------------------------------------------------------------------------


def index_of(shape, r):
    """A valid index of an array of this shape."""
    parts, dim, reach = [], 0, None
    together = r.choice([None, None, (), (2,), (3, 1)])
    while dim < len(shape):
        size, kind = (
            shape[dim],
            r.choice(["slice", "slice", "none", "stop", "ellipsis", "pick", "pick"]),
        )
        if kind == "stop":
            break
        if kind == "none":
            parts.append(None)
            continue
        if kind == "ellipsis" and reach is None:
            parts.append(Ellipsis)
            # at least one dimension: PyTorch sees index arrays on both sides of none as such
            dim += r.randint(1, len(shape) - dim)
            reach = len(shape) - dim
            continue
        if kind == "pick" and size and together is None:
            parts.append(r.randint(-size, size - 1))
        elif kind == "pick" and size >= 2 and together == (2,) and r.random() < 0.5:
            mask = numpy.zeros(size, bool)
            mask[r.sample(range(size), 2)] = True
            parts.append(mask)
        elif kind == "pick" and size and together is not None:
            count = int(numpy.prod(together))
            drawn = [r.randint(-size, size - 1) for _ in range(count)]
            parts.append(numpy.array(drawn, dtype="int64").reshape(together))
        else:
            low, high = (r.choice([None, r.randint(-size - 2, size + 2)]) for _ in range(2))
            parts.append(slice(low, high, r.choice([None, 1, 2, 3])))
        dim += 1
    if reach is not None:  # what follows the ellipsis must reach the end
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        after = parts[at + 1 :]
        parts += [slice(None)] * (reach - sum(p is not None for p in after))
    return tuple(parts)


def as_flambeau(index):
    return tuple(flambeau.tensor(p) if isinstance(p, numpy.ndarray) else p for p in index)


@CASES
@given(shape=SHAPES, dtype=st.sampled_from(["int64", "float32"]), turned=st.booleans(), seed=SEEDS)
def test_reading_by_index(shape, dtype, turned, seed):
    values = array(shape, dtype, seed)
    x = tensor(values, turned)
    for r in choices(seed):
        index = index_of(shape, r)
        agree(x[as_flambeau(index)], values[index])


@CASES
@given(shape=SHAPES, dtype=st.sampled_from(["int64", "float32"]), turned=st.booleans(), seed=SEEDS)
def test_writing_by_index(shape, dtype, turned, seed):
    for r in choices(seed):
        write_once(array(shape, dtype, seed), turned, index_of(shape, r), r)


def write_once(values, turned, index, r):
    x, part = tensor(values, turned), values[index].shape
    positions = numpy.arange(values.size).reshape(values.shape)[index]
    how = r.choice(["number", "whole", "row", "ones"])
    if how == "number":
        new = 7
    else:
        part = {"whole": part, "row": part[-1:], "ones": (1,) * len(part)}[how]
        new = array(part, str(values.dtype), r.getrandbits(32))
        if numpy.unique(positions).size != positions.size:
            new = numpy.full_like(new, 3)  # the order of several writes is not fixed
    values[index] = new
    x[as_flambeau(index)] = new if how == "number" else flambeau.tensor(new)
    agree(x, values)


# ---- reductions ----------------------------------------------------------------------------------

EXACT = {
    "sum": numpy.sum,
    "prod": numpy.prod,
    "amax": numpy.max,
    "amin": numpy.min,
    "any": numpy.any,
    "all": numpy.all,
    "count_nonzero": numpy.count_nonzero,
    "argmax": numpy.argmax,
    "argmin": numpy.argmin,
    "nansum": numpy.nansum,
    "cumsum": numpy.cumsum,
    "cumprod": numpy.cumprod,
}
INEXACT = {"mean": numpy.mean, "var": numpy.var, "std": numpy.std}
ONE_DIM = {"prod", "argmax", "argmin", "cumsum", "cumprod"}
NO_KEEPDIM = {"count_nonzero", "cumsum", "cumprod"}


@CASES
@given(shape=SHAPES, turned=st.booleans(), seed=SEEDS)
def test_reductions(shape, turned, seed):
    for r in choices(seed):
        dtype = r.choice(["float64", "float32", "int64", "int32", "uint8", "bool"])
        reduce_once(shape, turned, r.choice(sorted(EXACT | INEXACT)), dtype, r)


def reduce_once(shape, turned, name, dtype, r):
    seed, which, keepdim = r.getrandbits(32), r.randint(0, 15), r.random() < 0.5
    if name in INEXACT and KIND[dtype] != "float":
        dtype = "float64"
    values = array(shape, dtype, seed)
    if name in ("argmax", "argmin"):  # ties are left open
        order = numpy.random.default_rng(seed).permutation(values.size).reshape(shape)
        values = order.astype("float64" if dtype == "bool" else dtype)
    if r.random() < 0.5 and KIND[dtype] == "float" and values.size:
        values.reshape(-1)[seed % values.size] = numpy.nan
    dims = tuple(d for d in range(len(shape)) if which >> d & 1)
    if name in ONE_DIM:
        if not dims:
            return
        dims = dims[0]
    reduced = [shape[d] for d in (dims if isinstance(dims, tuple) else (dims,))]
    axis = None if dims == () else dims
    if axis is None:
        reduced = shape
    kwargs = {} if name in NO_KEEPDIM else {"keepdim": keepdim}
    given_dims = () if axis is None and name in ("amax", "amin") else axis
    x, function = tensor(values, turned), getattr(flambeau, name)
    if 0 in reduced and name in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises((RuntimeError, IndexError)):
            function(x, given_dims, **kwargs)
        return
    options = {"keepdims": keepdim} if kwargs else {}
    if name in ("cumsum", "cumprod") or name in ("sum", "prod", "nansum"):
        wide = {"bool": "int64", "uint8": "int64", "int32": "int64"}.get(dtype, dtype)
        options["dtype"] = wide
    if name in ("var", "std"):
        options["ddof"] = 1
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = (EXACT | INEXACT)[name](values, axis=axis, **options)
        got = function(x, given_dims, **kwargs)
    want = numpy.asarray(want)
    if name == "nansum" and KIND[dtype] == "float":
        want = want.astype(dtype)
    if dtype == "uint8" and name in ("any", "all"):
        want = want.astype("uint8")  # as PyTorch has it
    agree(got, want, {"float32": 1e-5, "float64": 1e-12}.get(dtype, 0) if name in INEXACT else 0)
