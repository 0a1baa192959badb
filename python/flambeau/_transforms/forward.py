"""Forward mode: tensors with a directional derivative, and how operators pass it on.

What an operator does to tangents follows from its derivative formulas, which give the gradient with
respect to each argument:

- A formula that reads neither its argument nor a result belongs to an operator that is linear in
that
  argument: the tangent passes through the operator itself. Arguments that the formula does not read
  only add something: they are zero then.
- A pointwise operator on real numbers multiplies by a derivative, forward as backward: its formula
  with the tangent in place of the gradient.
- Everything else: the gradient is linear in what comes in, w -> J^T w, so that its own gradient
along
  a tangent t is J t.

The latter two run on a level of reverse mode of their own, so that what they record stays inside.
"""

from __future__ import annotations

import ast

from flambeau import _C
from flambeau._C import Tensor, ops

from . import interpreter
from .interpreter import DUAL, GradLevel, Level, _level_of, _transform_of, operator, tracked


class DualLevel(Level):
    """Forward mode: each tensor has a tangent, or None for zero."""

    kind = DUAL
    device = None  # that of a tangent which is itself a transform's tensor

    def label(self, dim):
        return f"GradTrackingTensor(lvl={self.depth}"

    def text(self, show, value, tangent, dim):
        if not self.open:
            return super().text(show, value, tangent, dim)
        text = show(value)
        return text if tangent is None else f"{text[:-1]}, tangent={show(tangent)})"

    def wrap(self, t, tangent=None):
        if tangent is not None and self.device is None and _level_of(tangent):
            self.device = _C._transform_device(tangent)
        return _C._transform(self, self.id, DUAL, t, tangent, 0) if isinstance(t, Tensor) else t

    def tangent(self, t):
        record = self.of(t) if isinstance(t, Tensor) else None
        return None if record is None else record[4]

    def process(self, op, args):
        primals = self.values(args)
        tangents = [interpreter._map(self.tangent, a) if _has_tensor(a) else None for a in args]
        if op.changes:
            return self.change(op, args, primals, tangents)
        if op.view:
            return self.view(op, args, primals, tangents)
        if op.random:
            return self.finish(*_drawn(op, primals, tangents))
        result = op.call(primals)
        moved = pushed(op, primals, tangents)
        if moved is None and _is_flat(op.entry) and any(map(_has_some, tangents)):
            moved = [ops.zeros_like(r) for r in _as_tuple(result)]
        return self.finish(result, moved)

    def finish(self, result, tangents):
        if isinstance(result, Tensor):
            return self.joined(result, tangents[0] if tangents else None)
        if isinstance(result, tuple):
            return tuple(
                [self.joined(r, tangents[i] if tangents else None) for i, r in enumerate(result)]
            )
        return result

    def joined(self, result, tangent):
        """A result and its tangent; integers and truth have none."""
        return self.wrap(result, tangent if _differentiable(result) else None)

    def view(self, op, args, primals, tangents):
        """Tangents are seen through the same view, so that later changes in place agree."""
        base = args[0]
        if self.of(base) is None:
            return op.call(primals)
        result = op.call(primals)
        tangent = tangents[0]
        name = op.entry.name
        if name == "view_dtype" or not _differentiable(primals[0]):
            out = self.finish(result, None)
        else:
            if tangent is None:
                tangent = self.materialized(base)
            seen = op.call([tangent, *primals[1:]])
            out = self.finish(result, seen if isinstance(seen, tuple) else (seen,))
        for t in out if isinstance(out, tuple) else (out,):
            _C._share_version(t, base)
        return out

    def materialized(self, t):
        """The tangent of ``t``, zeros where it had none."""
        record = self.of(t)
        value, tangent = record[3], record[4]
        if tangent is None:
            # beside the tangents of the level: a batch where they are
            device = _C._transform_device(value) if self.device is None else self.device
            stride = value.stride() if _dense(value) else value.contiguous().stride()
            tangent = ops.empty_strided(
                tuple(value.shape), stride, dtype=value.dtype, device=device
            )
            tangent.zero_()
            _C._transform_set(t, value, tangent)
        return tangent

    def adopt(self, t):
        """Makes ``t`` a tensor of this level, and its base if it is a view."""
        base = t._base
        if base is None:
            _C._transform_adopt(t, self, self.id, DUAL)
            return
        size, stride, offset = tuple(t.shape), t.stride(), t.storage_offset()
        if self.of(base) is None:
            self.adopt(base)
        whole = self.materialized(base)
        offset -= self.value(base).storage_offset()
        _C._transform_adopt(t, self, self.id, DUAL)
        part = ops.as_strided(whole, size, stride, whole.storage_offset() + offset)
        _C._transform_set(t, self.value(t), part)

    def change(self, op, args, primals, tangents):
        target = args[0]
        if self.open and self.of(target) is None and any(_has_some(t) for t in tangents):
            self.adopt(target)
            primals[0] = self.value(target)
            tangents[0] = self.tangent(target)
        if self.of(target) is None:
            if any(_has_some(t) for t in tangents) or (op.entry.name == "copy_" and not self.open):
                raise RuntimeError(interpreter._captured(op))
            op.call(primals)
            return target
        some = any(_has_some(t) for t in tangents)
        name = op.entry.name
        if op.form == "_":
            fresh = None
            if some and _differentiable(primals[0]):
                base = op.functional()
                # in place an operator reads the old values
                pushed_tangents = pushed(base, primals, tangents)
                fresh = pushed_tangents[0] if pushed_tangents else None
            op.call(primals)
            interpreter._refresh(self, target)
            if fresh is not None:
                ops.copy_(self.materialized(target), fresh, False)
            elif tangents[0] is not None:
                ops.zero_(tangents[0])
            return target
        op.call(primals)
        if not _differentiable(primals[0]) or not some:
            return target
        tangent = self.materialized(target)
        if op.random:
            ops.zero_(tangent)
            return target
        moved = [tangent, *primals[1:]]
        for i in op.tensors[1:]:
            kind, given = op.types[i], tangents[i]
            if op.args[i].name in ("src", "values", "value", "source"):
                if given is not None:
                    moved[i] = given
                elif isinstance(primals[i], Tensor):
                    moved[i] = ops.zeros_like(primals[i])
                elif kind == "Operand":
                    moved[i] = 0
        if name == "fill_diagonal_":
            moved[op.position["fill_value"]] = 0
        op.call(moved)
        return target

    def item(self, t):
        return self.value(t).item()

    def detach(self, t):
        return self.wrap(self.value(t).detach())


def _dense(t):
    expected = 1
    for stride, n in sorted(zip(t.stride(), t.shape)):
        if n != 1 and stride != expected:
            return False
        expected *= n if n != 1 else 1
    return True


def _differentiable(t):
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


def _is_flat(entry):
    """Whether the operator is constant wherever it is smooth: its derivative is there, and zero."""
    rules = entry.differentiable()
    return bool(rules) and all(text.startswith("zeros") for _, text in rules)


def _has_tensor(a):
    return isinstance(a, Tensor) or (
        type(a) in (tuple, list) and any(isinstance(t, Tensor) for t in a)
    )


def _has_some(t):
    return any(x is not None for x in t) if isinstance(t, tuple) else t is not None


# ---- rules ---------------------------------------------------------------------------------------


class Facts:
    """What the formulas of an operator say about forward mode."""

    def __init__(self, op):
        from flambeau._ops.table import free_names

        entry = op.entry
        self.reads = {
            name: _read(text, free_names)
            for name, text in entry.differentiable()
            if not text.startswith("zeros")  # flat
        }
        # the results that depend on an argument; None: not to be told
        self.touches = {name: _outputs(text) for name, text in entry.differentiable()}
        results = {"result", "results"}
        # linear in one argument: the others that its formula reads are factors, so theirs read it
        self.linear = {
            name: name not in reads
            and not reads & results
            and all(name in self.reads[other] for other in reads & set(self.reads))
            for name, reads in self.reads.items()
        }
        # linear in all together: no formula reads a differentiable argument or a result
        wanted = set(self.reads)
        self.jointly = bool(self.reads) and all(
            not reads & (wanted | results) for reads in self.reads.values()
        )
        self.pointwise = entry.kernel.kind == "pointwise"
        if self.pointwise and not _polynomial(entry.kernel.text):
            self.jointly = False  # x - floor(x) has a constant derivative, too


def _outputs(text):
    tree = ast.parse(text.strip(), mode="eval")
    picked = [n for n in ast.walk(tree) if isinstance(n, ast.Subscript)]
    numbers = {n.slice.value for n in picked if getattr(n.value, "id", "") == "grads"}
    whole = sum(isinstance(n, ast.Name) and n.id == "grads" for n in ast.walk(tree)) > len(
        [n for n in picked if getattr(n.value, "id", "") == "grads"]
    )
    return numbers if numbers and not whole else None


def _polynomial(text):
    """Whether an expression over scalars has no functions but those that keep it linear."""
    calls = [
        n.func.id for n in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(n, ast.Call)
    ]
    return all(name in ("conj", "select", "where") for name in calls)


def _read(text, free_names):
    """Names whose values a formula reads; `x.shape` reads none."""
    tree = ast.parse(text.strip(), mode="eval")
    attributes = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return {
        n.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Name) and id(n) not in called and id(n) not in attributes
    } - {"grad", "grads"}


def _drawn(op, primals, tangents):
    """A random operator, whose tangent belongs to this very draw: result and tangents."""
    if op.entry.name not in ("_dropout", "_rrelu", "_standard_gamma") or tangents[0] is None:
        return op.call(primals), None
    level = GradLevel()
    with _recording():
        x = tracked(level.wrap(primals[0]))
        result = op.call([x, *primals[1:]])
        first = _as_tuple(result)[0]
        weight = level.wrap(tangents[0])
        with level.reopened():
            (g,) = _C._run_backward([first], [weight], False, True, [x], True, False)
    values = tuple([level.value(t) for t in _as_tuple(result)])
    tangent = (level.value(g), *[None] * (len(values) - 1))
    return (values if isinstance(result, tuple) else values[0]), tangent


def pushed(op, primals, tangents):
    """Tangents of the results, or None where all are zero."""
    if not op.entry.differentiable():
        return None
    facts = op.forward
    if facts is None:
        facts = op.forward = Facts(op)
    moving = [
        i
        for i, a in enumerate(op.args)
        if a.name in facts.reads and _has_some(tangents[i]) and _moves(primals[i])
    ]
    if not moving:
        return None
    if facts.jointly:
        return _as_tuple(_linear(op, facts, primals, tangents, moving))
    complex_somewhere = any(
        t.is_complex() if isinstance(t, Tensor) else isinstance(t, complex)
        for a in primals
        for t in _each(a)
    )
    if facts.pointwise and not complex_somewhere and op.entry.dtype != "bool":
        return (_elementwise(op, primals, tangents, moving),)
    total = None
    rest = []
    for i in moving:
        name = op.args[i].name
        if facts.linear[name] and not facts.pointwise and op.types[i] != "Tensor[]":
            total = _sum(total, _as_tuple(_linear(op, facts, primals, tangents, [i])))
        else:
            rest.append(i)
    if rest:
        total = _sum(total, _twice(op, primals, tangents, rest))
    return total


def _moves(value):
    return any(_differentiable(t) for t in _each(value))


def _each(a):
    return a if type(a) in (tuple, list) else (a,)


def _as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def _sum(a, b):
    if a is None:
        return b
    return tuple([y if x is None else x if y is None else ops.add(x, y) for x, y in zip(a, b)])


def _linear(op, facts, primals, tangents, moving):
    """The operator on the tangents; what its formulas do not read is zero."""
    read = set().union(*(facts.reads[op.args[i].name] for i in moving))
    args = list(primals)
    for i, a in enumerate(op.args):
        if i in moving:
            args[i] = _filled(primals[i], tangents[i])
        elif a.name in facts.reads and a.name not in read:
            if a.type == "Tensor?":
                args[i] = None
            elif isinstance(primals[i], Tensor):
                args[i] = ops.zeros_like(primals[i])
            elif type(primals[i]) in (tuple, list):
                args[i] = tuple([ops.zeros_like(t) for t in primals[i]])
            else:
                args[i] = 0
        elif a.type in ("Scalar", "Operand") and a.name not in read and _adds(op, facts, a.name):
            args[i] = 0
    result = op.call(args)
    touched: set = set()
    for i in moving:
        numbers = facts.touches[op.args[i].name]
        if numbers is None:
            return result
        touched |= numbers
    return tuple([t if k in touched else None for k, t in enumerate(_as_tuple(result))])


def _adds(op, facts, name):
    """Whether a number that this formula does not read is an addend: no formula reads it."""
    return not any(name in reads for reads in facts.reads.values()) and name not in (
        "alpha",
        "beta",
        "start",
        "end",
    )


def _filled(primal, tangent):
    if type(primal) in (tuple, list):
        return tuple([ops.zeros_like(p) if t is None else t for p, t in zip(primal, tangent)])
    return tangent


def _elementwise(op, primals, tangents, moving):
    """The derivative formula with the tangent in place of the gradient, summed over arguments."""
    shapes = [primals[i].shape for i in op.tensors if isinstance(primals[i], Tensor)]
    shape = _broadcast(shapes)
    total = None
    for i in moving:
        level = GradLevel()
        x = level.wrap(primals[i] if tuple(primals[i].shape) == shape else primals[i].expand(shape))
        args = list(primals)
        args[i] = x
        t = tangents[i]
        with _recording():
            tracked(x)
            y = op.call(args)
            if not y.requires_grad:
                continue
            t = t if tuple(t.shape) == shape else t.expand(shape)
            if t.dtype != y.dtype:
                t = t.to(y.dtype)
            with level.reopened():
                (g,) = _C._run_backward([y], [level.wrap(t)], False, True, [x], True, False)
        if g is None:
            continue
        g = level.value(g)
        dtype = level.value(y).dtype
        g = g if g.dtype == dtype else g.to(dtype)
        total = g if total is None else ops.add(total, g)
    return total


def _broadcast(shapes):
    rank = max(map(len, shapes))
    out = [1] * rank
    for s in shapes:
        for k, n in enumerate(s):
            if n != 1:
                out[rank - len(s) + k] = n
    return tuple(out)


class _recording:
    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


def _twice(op, primals, tangents, moving):
    """J t as the derivative of w -> J^T w along t."""
    outer, inner = GradLevel(), GradLevel()
    inner.below = True  # the outer level records what the inner one does
    args = list(primals)
    inputs, directions = [], []

    def watch(p, t):
        if t is None or not _differentiable(p):
            return p
        x = tracked(inner.wrap(outer.wrap(p)))
        inputs.append(x)
        directions.append(t if t.dtype == p.dtype else t.to(p.dtype))
        return x

    with _recording():
        for i in moving:
            if type(primals[i]) in (tuple, list):
                args[i] = tuple([watch(p, t) for p, t in zip(primals[i], tangents[i])])
            else:
                args[i] = watch(primals[i], tangents[i])
        result = op.call(args)
        outputs = _as_tuple(result)
        chosen = [k for k, y in enumerate(outputs) if isinstance(y, Tensor) and y.requires_grad]
        if not chosen:
            return tuple([None] * len(outputs))
        weights = []
        for k in chosen:
            # any weights would do, but formulas may take their logarithm
            w = outer.wrap(ops.ones_like(outer.value(inner.value(outputs[k]))))
            weights.append(tracked(w))
        with outer.reopened(), inner.reopened():
            grads = _C._run_backward(
                [outputs[k] for k in chosen],
                [inner.wrap(w) for w in weights],
                False,
                True,
                inputs,
                True,
                False,
            )
        pairs = [
            (g, t)
            for g, t in zip(map(inner.value, grads), directions)
            if isinstance(g, Tensor) and g.requires_grad
        ]
        out = [None] * len(outputs)
        if pairs:
            with outer.reopened():
                found = _C._run_backward(
                    [g for g, _ in pairs],
                    [outer.wrap(t if t.dtype == g.dtype else t.to(g.dtype)) for g, t in pairs],
                    False,
                    True,
                    weights,
                    True,
                    False,
                )
            for k, g in zip(chosen, found):
                if g is not None:
                    out[k] = outer.value(g)
    return tuple(out)


__all__ = ["DualLevel", "_level_of", "_transform_of", "operator"]
