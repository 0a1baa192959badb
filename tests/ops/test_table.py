"""Every operator of the table at its samples: values, dtypes, forms, layouts, derivatives, docs."""

from __future__ import annotations

import ast
import math
import operator
import zlib

import numpy
import pytest

import flambeau
from flambeau._ops import OPS
from flambeau._ops.samples import T
from flambeau.autograd import gradcheck, gradgradcheck

scipy = pytest.importorskip("scipy")
pytest.importorskip("scipy.special")

CATEGORY = {"bool": "b", "int64": "i", "int32": "i", "complex64": "c", "complex128": "c"}
DTYPES = ["float32", "float64", "int64", "bool", "complex64", "bfloat16"]
TOLERANCE = {
    flambeau.float32: (2e-5, 2e-6),
    flambeau.float64: (1e-9, 1e-11),
    flambeau.complex64: (2e-5, 5e-6),
    flambeau.complex128: (1e-9, 1e-11),
    flambeau.bfloat16: (2e-2, 2e-2),
}
REFUSED = (TypeError, NotImplementedError, RuntimeError)
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "neg": operator.neg,
    "abs": operator.abs, "invert": operator.invert,
}  # fmt: skip

SAMPLED = sorted(name for name, op in OPS.items() if op.samples)
RANDOM = {name for name, op in OPS.items() if op.tag("random") is not None}
STABLE = [name for name in SAMPLED if name not in RANDOM and not OPS[name].mutates]


# ---- building calls ------------------------------------------------------------------------------


def elements(spec, dtype, rng):
    """A NumPy array in [low, high) that the dtype holds exactly."""
    if dtype == "bool":
        return rng.integers(0, 2, spec.shape).astype(bool) | bool(spec.nonzero)
    if spec.integers or CATEGORY.get(dtype) == "i":
        low, high = math.ceil(spec.low), max(math.ceil(spec.low) + 1, math.floor(spec.high) + 1)
        values = rng.integers(low, high, spec.shape)
        return numpy.where(values == 0, 1, values) if spec.nonzero else values
    values = rng.uniform(spec.low, spec.high, spec.shape)
    if spec.nonzero:
        values = numpy.where(abs(values) < 0.5, 1.25, values)
    if CATEGORY.get(dtype) == "c":
        values = values + 1j * rng.uniform(-1.0, 1.0, spec.shape)
    return values


def tensor_of(spec, dtype, rng):
    kind = "int64" if spec.positions or (spec.integers and dtype != "bool") else dtype
    array = numpy.asarray(elements(spec, kind, rng))
    return flambeau.tensor(array.tolist()).reshape(spec.shape).to(getattr(flambeau, kind))


def build(value, dtype, rng):
    if isinstance(value, T):
        return tensor_of(value, dtype, rng)
    if isinstance(value, list):
        return [build(v, dtype, rng) for v in value]
    return value


class Call:
    """A sample as the arguments of a call."""

    def __init__(self, op, index, dtype):
        rng = numpy.random.default_rng(zlib.crc32(f"{op.name}{index}".encode()))
        self.op, self.names = op, [a.name for a in op.args]
        self.values = [build(v, dtype, rng) for v in op.samples[index]]

    def replaced(self, values):
        other = object.__new__(Call)
        other.op, other.names, other.values = self.op, self.names, list(values)
        return other

    def each(self, change):
        """The same call with ``change`` applied to each tensor."""
        return self.replaced(map_tensors(self.values, change))

    def split(self):
        kwonly = [a.kwonly for a in self.op.args]
        args = [v for v, k in zip(self.values, kwonly) if not k]
        names = [n if n != "self" else "input" for n in self.names]
        return args, {n: v for n, v, k in zip(names, self.values, kwonly) if k}

    def __call__(self, function=None, **more):
        args, kwargs = self.split()
        return (function or getattr(flambeau._C.ops, self.op.base))(*args, **kwargs, **more)

    @property
    def tensors(self):
        found = []
        map_tensors(self.values, found.append)
        return found


def map_tensors(value, change):
    if isinstance(value, flambeau.Tensor):
        return change(value)
    if isinstance(value, list):
        return [map_tensors(v, change) for v in value]
    return value


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tensors(result):
    return [t for t in flat(result) if isinstance(t, flambeau.Tensor)]


def same(got, want, what):
    got, want = tensors(got), tensors(want)
    assert len(got) == len(want), what
    for g, w in zip(got, want):
        assert g.shape == w.shape, f"{what}: shape {g.shape}, expected {w.shape}"
        assert g.dtype == w.dtype, f"{what}: dtype {g.dtype}, expected {w.dtype}"
        wide = array_of(g), array_of(w)
        numpy.testing.assert_allclose(*wide, rtol=1e-6, atol=1e-7, err_msg=what)


def array_of(t):
    t = t.detach()
    return (t.to(flambeau.float32) if t.dtype == flambeau.bfloat16 else t).numpy()


def must_work(op, dtype):
    """Whether the table promises a kernel for this dtype."""
    if op.kernel.kind != "pointwise":
        return dtype in ("float32", "float64")
    category = CATEGORY.get(dtype, "f")
    return category in op.on or (category in "bi" and op.dtype == "float" and "f" in op.on)


def working_calls(op, dtype):
    """(index, call, result) of each sample that the dtype allows."""
    for index in range(len(op.samples)):
        call = Call(op, index, dtype)
        try:
            result = call()
        except REFUSED:
            if must_work(op, dtype):
                raise
            continue
        yield index, call, result


def each(names=STABLE):
    return pytest.mark.parametrize("name", names)


def pairs(names, dtypes, wanted):
    found = [(n, d) for n in names for d in dtypes if wanted(OPS[n], d)]
    return pytest.mark.parametrize("name, dtype", found)


# ---- values --------------------------------------------------------------------------------------


def reference(op, call, dtype):
    """What NumPy computes, in double precision."""
    scope = {"numpy": numpy, "scipy": scipy, "math": math}
    for a in op.args:
        if a.default is not None:
            try:
                scope[a.name] = ast.literal_eval(a.default)
            except (ValueError, SyntaxError):
                scope[a.name] = None
    wide = {"f": "float64", "i": "int64", "c": "complex128", "b": "float64"}
    for name, value in zip(call.names, call.values):
        scope[name] = map_tensors(value, lambda t: array_of(t).astype(wide[array_of(t).dtype.kind]))
    with numpy.errstate(all="ignore"):
        return eval(op.ref, scope)  # an expression of the table


def referenced(op, dtype):
    """The references speak of numbers, of complex ones where a pointwise kernel takes them."""
    return dtype != "bool" and (CATEGORY.get(dtype) != "c" or op.kernel.kind == "pointwise")


@pairs([name for name in STABLE if OPS[name].ref], DTYPES, referenced)
def test_value_is_the_reference(name, dtype):
    op = OPS[name]
    for index, call, result in working_calls(op, dtype):
        for got, want in zip(tensors(result), flat(reference(op, call, dtype))):
            want = numpy.asarray(want)
            assert tuple(got.shape) == want.shape, f"sample {index}"
            rtol, atol = TOLERANCE.get(got.dtype, (0, 0))
            numpy.testing.assert_allclose(
                array_of(got), want, rtol=rtol, atol=atol, err_msg=f"sample {index}: {call.values}"
            )


@pytest.mark.parametrize("dtype", DTYPES)
@each([name for name in STABLE if not OPS[name].ref])
def test_low_precision_agrees_with_double(name, dtype):
    op = OPS[name]
    wide = {"float32": "float64", "bfloat16": "float64", "complex64": "complex128"}.get(dtype)
    for index, call, result in working_calls(op, dtype):
        if wide is None:
            continue
        change = getattr(flambeau, wide)
        want = call.each(
            lambda t, change=change: (
                t.to(change) if t.dtype.is_floating_point or t.dtype.is_complex else t
            )
        )()
        for g, w in zip(tensors(result), tensors(want)):
            assert g.shape == w.shape
            rtol, atol = TOLERANCE.get(g.dtype, (0, 0))
            if g.dtype.is_floating_point or g.dtype.is_complex:
                text = f"sample {index}: {call.values}"
                numpy.testing.assert_allclose(
                    array_of(g), array_of(w), rtol=rtol, atol=atol, err_msg=text
                )


# ---- forms ---------------------------------------------------------------------------------------


def public(path):
    """The object at a dotted name of the package, None where a part is missing."""
    value = flambeau
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


@each(sorted(OPS))
def test_is_bound(name):
    op = OPS[name]
    assert hasattr(flambeau._C.ops, op.base)
    if op.has("function"):
        assert public(op.base) is not None
    if op.has("method"):
        assert hasattr(flambeau.Tensor, op.base)
    if op.has("inplace"):
        assert hasattr(flambeau.Tensor, op.base + "_")
    for alias in op.alias:
        assert public(alias) is not None, alias


@each()
def test_forms_agree(name):
    op = OPS[name]
    for index, call, result in working_calls(op, "float64"):
        where = f"sample {index}: "
        if op.has("function"):
            same(call(public(op.base)), result, where + "function")
        for alias in op.alias:
            same(call(public(alias)), result, where + alias)
        if op.has("method"):
            same(call(getattr(flambeau.Tensor, op.base)), result, where + "method")
        for form in op.forms:
            kind, _, symbol = form.partition(":")
            if kind == "operator" and len(call.split()[0]) <= 2:
                same(call(OPERATORS[symbol]), result, where + symbol)


@each([name for name in STABLE if OPS[name].has("out")])
def test_out(name):
    op = OPS[name]
    for index, call, result in working_calls(op, "float64"):
        outs = [flambeau.empty(0, dtype=t.dtype) for t in tensors(result)]
        given = outs[0] if len(outs) == 1 else tuple(outs)
        returned = call(out=given)
        assert all(a is b for a, b in zip(flat(returned), outs)), "returns its out"
        same(outs, result, f"sample {index}")
        if not call.tensors or not call.tensors[0].dim():
            continue  # 0-d cpu tensors go with any device
        meta = flambeau.empty(0, dtype=outs[0].dtype, device="meta")
        with pytest.raises(REFUSED):
            call(out=meta if len(outs) == 1 else (meta,) * len(outs))


@each([name for name in STABLE if OPS[name].has("inplace")])
def test_inplace(name):
    op = OPS[name]
    for index, call, result in working_calls(op, "float64"):
        target = call.values[0].clone()
        changed = call.replaced([target, *call.values[1:]])
        function = getattr(flambeau.Tensor, op.base + "_")
        if result.shape != target.shape or not flambeau.can_cast(result.dtype, target.dtype):
            with pytest.raises(REFUSED):
                changed(function)
            continue
        before = target._version
        assert changed(function) is target
        same(target, result.to(target.dtype), f"sample {index}")
        assert target._version > before


# ---- layouts and devices -------------------------------------------------------------------------


def strided(t):
    """The same elements, none of them next to another in memory."""
    wide = flambeau.zeros([2 * s + 1 for s in reversed(t.shape)], dtype=t.dtype)
    view = wide.permute(*reversed(range(t.dim()))) if t.dim() else wide
    for d in range(t.dim()):
        view = (
            view.slice(d, 1, None, 2)
            if hasattr(view, "slice")
            else view.narrow(d, 0, view.shape[d])
        )
    view = view[tuple(slice(1, None, 2) for _ in t.shape)] if view.shape != t.shape else view
    view.copy_(t)
    return view


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@each([name for name in STABLE if not name.startswith("as_strided")])
def test_strides_do_not_matter(name, dtype):
    op = OPS[name]
    for index, call, result in working_calls(op, dtype):
        try:
            got = call.each(strided)()
        except RuntimeError as error:
            assert "view" in str(error), f"sample {index}"  # a view of other strides may not exist
            continue
        same(got, result, f"sample {index}")


@each()
def test_meta_gives_shape_and_dtype(name):
    op = OPS[name]
    for index, call, result in working_calls(op, "float64"):
        try:
            got = call.each(lambda t: t.to("meta"))()
        except NotImplementedError:
            continue  # the shape depends on the data
        for g, w in zip(tensors(got), tensors(result)):
            assert g.device.type == "meta"
            assert (g.shape, g.dtype) == (w.shape, w.dtype), f"sample {index}"
            assert g.stride() == w.stride(), f"sample {index}"


# ---- derivatives and docs ------------------------------------------------------------------------


def differentiable(op):
    return op.grad != "zero" and (bool(op.grad) or op.kernel.kind in ("decomp", "composite"))


def differentiable_on(op, dtype):
    return dtype != "complex128" or (op.kernel.kind == "pointwise" and "c" in op.on)


@pairs(
    [name for name in STABLE if differentiable(OPS[name])],
    ["float64", "complex128"],
    differentiable_on,
)
def test_derivatives(name, dtype):
    op = OPS[name]
    for _, call, result in working_calls(op, dtype):
        leaves = [t.requires_grad_() for t in call.tensors if t.dtype == getattr(flambeau, dtype)]
        kept = [
            t for t in tensors(result) if t.numel() and (t.is_floating_point() or t.is_complex())
        ]
        if not leaves or not kept or not all(t.numel() for t in leaves):
            continue
        if not any(t.requires_grad for t in tensors(call())):
            continue

        def function(*values, call=call):
            given = iter(values)
            chosen = call.each(lambda t: next(given) if t.requires_grad else t)
            return tuple(t for t in tensors(chosen()) if t.requires_grad)

        assert gradcheck(function, tuple(leaves))
        assert gradgradcheck(function, tuple(leaves))


@each(sorted({op.base for op in OPS.values() if "internal" not in op.tags and op.has("function")}))
def test_public_functions_have_docs(name):
    documented = getattr(flambeau._C.ops, name).__doc__
    assert documented and name in documented
