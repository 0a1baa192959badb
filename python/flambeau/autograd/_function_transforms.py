"""autograd.Function under function transforms: each level uses what the class defines for it.

Reverse mode records the class's own backward at its level and applies the class again to the values
below; forward mode calls ``jvp``; vmap calls the static method ``vmap``, or runs forward, backward
and jvp under vmap (``generate_vmap_rule = True``).
"""

from __future__ import annotations

import collections

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau._transforms.batching import BatchLevel
from flambeau._transforms.directional import tree_flatten, tree_map, tree_unflatten
from flambeau._transforms.interpreter import BATCH, DUAL, _level_of, _transform_of, below
from flambeau.autograd import function as _function

VmapInfo = collections.namedtuple("VmapInfo", ["batch_size", "randomness"])


def apply_transformed(cls, number, args):
    """``cls.apply(*args)``, where ``number`` is the highest level among the arguments."""
    if cls.setup_context is _function.Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. For more details, "
            "please "
            "see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    level = next(
        _transform_of(t)[0]
        for t in tree_flatten(args)[0]
        if isinstance(t, Tensor) and _level_of(t) == number
    )
    if level.kind == BATCH:
        return _batched(cls, level, args)
    if level.kind == DUAL:
        return _dual(cls, level, args)
    return _recorded(cls, level, args)


class _lower:
    """Runs what lies below a level: its grad mode and its number of open levels."""

    def __init__(self, level, grad_mode):
        self.level, self.grad_mode = level, grad_mode

    def __enter__(self):
        self.count = _C._set_transforms(below(self.level))
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.grad_mode)

    def __exit__(self, *exc):
        _C._set_transforms(self.count)
        _C._set_grad_enabled(self.before)


def _recorded(cls, level, args):
    def forward(*inside):
        with _lower(level, level.below):
            out = cls.apply(*level.values(inside))
        dirty = {id(level.value(t)): t for t in inside if isinstance(t, Tensor)}
        return tree_map(lambda t: dirty.get(id(t)) if id(t) in dirty else level.wrap(t), out)

    derived = type(
        cls.__name__, (cls,), {"forward": staticmethod(forward), "__module__": cls.__module__}
    )
    return derived._apply_here(args, {})


def _dual(cls, level, args):
    primals = level.values(args)
    grad_mode = _C.is_grad_enabled()
    with _lower(level, grad_mode):
        out = cls.apply(*primals)
        ctx = _function.FunctionCtx()
        ctx.needs_input_grad = tuple([level.tangent(a) is not None for a in args])
        cls.setup_context(ctx, tuple(primals), out)
        flat, spec = tree_flatten(out)
        tangents = [level.tangent(a) if isinstance(a, Tensor) else None for a in args]
        if any(t is not None for t in tangents):
            ctx.to_save = ctx.saved_for_forward or ctx.to_save  # jvp sees what is kept for it
            given = [
                ops.zeros_like(p) if t is None and _real(p) and ctx._materialize else t
                for p, t in zip(primals, tangents)
            ]
            found = cls.jvp(ctx, *given)
            found = found if isinstance(found, tuple) else (found,)
        else:
            found = [None] * len(flat)
        if len(found) != len(flat):
            raise RuntimeError(
                f"{cls.__name__}.jvp: expected {len(flat)} tangents, one for each output, got "
                f"{len(found)}"
            )
    dirty = {id(t) for t in ctx.dirty_tensors}
    outs = []
    for t, d in zip(flat, found):
        if isinstance(t, Tensor) and id(t) in dirty:
            target = next(a for a, p in zip(args, primals) if p is t)
            _C._transform_set(target, t, d)
            outs.append(target)
        else:
            outs.append(level.wrap(t, d) if isinstance(t, Tensor) else t)
    return tree_unflatten(outs, spec)


def _real(t):
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


# ---- vmap ----------------------------------------------------------------------------------------


def _split(level, tree):
    """Values and hidden dimensions (None for no batch) of a structure."""

    def value(t):
        return level.value(t) if isinstance(t, Tensor) else t

    def dim(t):
        record = level.of(t)
        return None if record is None else record[5]

    return tree_map(value, tree), tree_map(dim, tree)


def _joined(level, tree, dims):
    flat, spec = tree_flatten(tree)
    if dims is None or isinstance(dims, int):
        flat_dims = [dims] * len(flat)
    else:
        flat_dims = tree_flatten(dims)[0]
        if len(flat_dims) != len(flat):
            raise RuntimeError(
                f"vmap staticmethod: out_dims {dims} do not have the structure of the outputs"
            )
    return tree_unflatten(
        [
            t if d is None or not isinstance(t, Tensor) else level.wrap(t, d % t.dim())
            for t, d in zip(flat, flat_dims)
        ],
        spec,
    )


def _batched(cls, level, args):
    own = cls.vmap is not _function.Function.vmap
    if cls.generate_vmap_rule:
        if own:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both "
                f"generate_vmap_rule=True and "
                "an overriden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
                "overriden vmap staticmethod to avoid ambiguity. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html"
            )
        return _generated(cls, level, args)
    if not own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. For more "
            "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    values, dims = _split(level, tuple(args))
    with _lower(level, _C.is_grad_enabled()):
        result = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree "
            f"structure compatible with the output. Got {type(result)}"
        )
    return _joined(level, *result)


def _generated(cls, level, args):
    """The class under vmap as another Function, on the values."""
    size, randomness = level.size, level.randomness
    values, dims = _split(level, tuple(args))
    out_dims: list = []

    def inside(tree, dims, own):
        return _joined(own, tree, dims)

    def forward(*given):
        with BatchLevel(size, randomness) as own:
            out = cls.forward(*inside(given, dims, own))
            values, found = _split(own, out)
        out_dims[:] = [found]
        return values

    def setup_context(ctx, inputs, output):
        ctx.inner = inner = _function.FunctionCtx()
        inner.needs_input_grad = ctx.needs_input_grad
        with BatchLevel(size, randomness) as own:
            cls.setup_context(inner, inside(inputs, dims, own), inside(output, out_dims[0], own))
            saved, ctx.saved_dims = _split(own, tuple(inner.to_save or inner.saved_for_forward))
            dirty = [own.value(t) for t in inner.dirty_tensors]
            fixed = [own.value(t) for t in inner.non_differentiable]
            # tensors kept as attributes are batches of this level: they come apart, too
            ctx.attributes = {
                k: _split(own, v)
                for k, v in vars(inner).items()
                if not k.startswith("_") and not hasattr(_function.FunctionCtx, k)
            }
        for k in ctx.attributes:
            delattr(inner, k)
        inner.to_save = inner.dirty_tensors = inner.non_differentiable = ()
        ctx._materialize = inner._materialize
        ctx.save_for_backward(*saved)
        ctx.mark_dirty(*dirty)
        ctx.mark_non_differentiable(*fixed)

    def restored(ctx, own):
        inner = ctx.inner
        inner.to_save = _joined(own, tuple(ctx.saved_tensors), ctx.saved_dims)
        for k, (v, d) in ctx.attributes.items():
            setattr(inner, k, _joined(own, v, d) if tree_flatten(v)[0] else v)
        return inner

    def backward(ctx, *grads):
        flat_dims = tree_flatten(out_dims[0])[0]
        with BatchLevel(size, randomness) as own:
            given = [
                g if g is None or d is None else own.wrap(g, d) for g, d in zip(grads, flat_dims)
            ]
            found = cls.backward(restored(ctx, own), *given)
            found = found if isinstance(found, tuple) else (found,)
            out = []
            for g, d, v in zip(found, dims, values):
                out.append(None if g is None else _fitted(own, g, d, v))
        return tuple(out)

    def jvp(ctx, *tangents):
        with BatchLevel(size, randomness) as own:
            given = [
                t if t is None or d is None else own.wrap(t, d) for t, d in zip(tangents, dims)
            ]
            found = cls.jvp(restored(ctx, own), *given)
            found = found if isinstance(found, tuple) else (found,)
            flat_dims = tree_flatten(out_dims[0])[0]
            return tuple([_placed(own, t, d) for t, d in zip(found, flat_dims)])

    derived = type(
        cls.__name__,
        (_function.Function,),
        {
            "generate_vmap_rule": True,
            "forward": staticmethod(forward),
            "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward),
            "jvp": staticmethod(jvp),
        },
    )
    with _lower(level, _C.is_grad_enabled()):
        out = derived.apply(*values)
    return _joined(level, out, out_dims[0])


def _placed(own, t, d):
    """The value of a derivative, with the batch where its tensor has it (None: summed)."""
    if t is None:
        return None
    record = own.of(t)
    if d is None:
        return t if record is None else ops.sum(record[3], record[5])
    if record is None:
        return ops.movedim(ops.expand(t, (own.size, *t.shape)), 0, d)
    return ops.movedim(record[3], record[5], d)


def _fitted(own, g, d, like):
    return _placed(own, g, d)
