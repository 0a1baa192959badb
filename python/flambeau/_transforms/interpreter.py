"""Levels of function transforms, and how an operator on their tensors is carried out.

A transform (vmap, grad, jvp) opens a level and passes tensors of that level to the function: each
stands for another tensor (csrc/core/transform.h). An operator with such tensors among its arguments
comes here instead of to a kernel. The highest level among them handles it: it takes the tensors of
its own level apart, calls operators on what they stand for, which lower levels handle in their
turn, and puts the results together. Levels are numbered in the order in which they open, so the
innermost transform is the highest. Factories and random operators belong to the innermost
transform.

Autograd lies above: a tensor of a level has a history of its own, recorded by the operator before
it comes here, while the history of what it stands for belongs to the levels below.
"""

from __future__ import annotations

import itertools
import threading

from flambeau import _C
from flambeau._C import Tensor, ops

_set_transforms = _C._set_transforms
_transform_of = _C._transform_of
_level_of = _C._transform_level

BATCH, GRAD, DUAL = 0, 1, 2
_numbers = itertools.count(1)


class _Local(threading.local):
    def __init__(self):
        self.stack = []


_local = _Local()


def active():
    """The levels that are open in this thread, outermost first."""
    return _local.stack


# ---- operators -----------------------------------------------------------------------------------


class Operator:
    """What the interpreter knows of an operator in one of its forms ("", "_", "_out")."""

    def __init__(self, entry, form):
        self.entry, self.form = entry, form
        self.name = entry.name + form
        args = [a for a in entry.args if a.type not in ("layout?", "pin?", "rg")]
        self.args = args
        self.names = ["input" if a.name == "self" else a.name for a in args]
        self.types = [a.type for a in args]
        self.tensors = [i for i, a in enumerate(args) if a.is_tensor]
        self.position = {a.name: i for i, a in enumerate(args)}
        self.function = getattr(ops, entry.base + (form if form == "_" else ""))
        self.changes = entry.mutates or form == "_"
        self.view = entry.kernel.kind == "view"
        self.several = len(entry.returns) > 1 or entry.returns[0] == "Tensor[]"
        self.random = "random" in entry.tags
        self.order: list[int] | None = None
        if form and entry.kernel.kind == "pointwise":  # the hook passes tensors first
            first = [i for i, a in enumerate(args) if a.type in ("Tensor", "Operand", "Tensor?")]
            self.order = first + [i for i in range(len(args)) if i not in first]
        # a first argument by position: overloads are told apart by the names of the rest
        self.lead = 1 if args and args[0].type in ("Tensor", "Operand") else 0
        self.keywords = self.names[self.lead :]
        self.rule = None  # of vmap
        self.forward = None  # of forward mode

    def __repr__(self):
        return f"Operator({self.name})"

    def call(self, args):
        """The operator on arguments in the order of the schema."""
        lead = self.lead
        return self.function(*args[:lead], **dict(zip(self.keywords, args[lead:])))

    def functional(self):
        return operator(self.entry.name)


_operators: dict[str, Operator] = {}


def operator(name):
    found = _operators.get(name)
    if found is None:
        from flambeau._ops import OPS

        if name in OPS:
            found = Operator(OPS[name], "")
        else:
            form = "_out" if name.endswith("_out") else "_"
            found = Operator(OPS[name.removesuffix(form)], form)
        _operators[name] = found
    return found


# ---- levels --------------------------------------------------------------------------------------


def leave_inference_mode():
    """Transforms record in inference mode, too. Whether it was on."""
    on = _C.is_inference_mode_enabled()
    if on:
        _C._set_inference_mode(False)
    return on


class Level:
    """An open transform. Entered with `with`; tensors of it may outlive it."""

    kind: int
    depth = 0  # its number among the open levels, from 1
    open = False  # whether other tensors may become ones of the level, by a change in place
    over = False  # tensors that outlive it are no longer its own

    def __init__(self):
        self.id = next(_numbers)

    def text(self, show, value, tangent, dim):
        """A tensor of the level as printed; ``show`` prints its value."""
        inner = "\n".join(" " * 4 + line for line in show(value).splitlines())
        return f"{self.label(dim)}, value=\n{inner}\n)"

    def __enter__(self):
        # within an operator only the levels below the one that carries it out are open
        count = _set_transforms(0)
        self.outside = _local.stack, count, leave_inference_mode()
        _local.stack = [*_local.stack[:count], self]
        self.depth = count + 1
        _set_transforms(count + 1)
        return self

    def __exit__(self, *exc):
        _local.stack, count, inference = self.outside
        self.over = True
        _set_transforms(count)
        if inference:
            _C._set_inference_mode(True)
        return False

    def reopened(self):
        """Context in which the level is open again, for a backward pass after its end."""
        return _Reopened(self)

    def of(self, t):
        """The record of ``t`` if it is a tensor of this level, else None."""
        if isinstance(t, Tensor) and _level_of(t) == self.id:
            return _transform_of(t)
        return None

    def value(self, t):
        """What ``t`` stands for at this level: itself where it is not of it."""
        record = self.of(t)
        return t if record is None else record[3]

    def values(self, args):
        """Arguments with this level's tensors replaced by their values."""
        return [_map(self.value, a) for a in args]


class _Reopened:
    def __init__(self, level):
        self.level = level

    def __enter__(self):
        count = _set_transforms(0)
        self.outside = _local.stack, count, leave_inference_mode()
        stack = _local.stack[:count]
        if self.level not in stack:
            stack = sorted([*stack, self.level], key=lambda level: level.id)
        _local.stack = stack
        self.over, self.level.over = self.level.over, False
        _set_transforms(len(stack))

    def __exit__(self, *exc):
        _local.stack, count, inference = self.outside
        self.level.over = self.over
        _set_transforms(count)
        if inference:
            _C._set_inference_mode(True)


def _map(f, a):
    if isinstance(a, Tensor):
        return f(a)
    if type(a) is tuple or type(a) is list:  # lists of tensors; sizes are of type Size
        return tuple([f(t) if isinstance(t, Tensor) else t for t in a])
    return a


def is_plain(t):
    return _level_of(t) == 0


def below(level):
    """How many of the open levels lie below ``level``."""
    n = 0
    for other in _local.stack:
        if other.id >= level.id:
            break
        n += 1
    return n


def _owner(args, number):
    for a in args:
        for t in a if type(a) in (tuple, list) else (a,):
            if isinstance(t, Tensor) and _level_of(t) == number:
                return _transform_of(t)[0]
    raise AssertionError("no tensor of the level")


def dispatch(name, number, args):
    """Carries out operator ``name``; ``number`` is the highest level among its arguments."""
    count = _set_transforms(0)
    if number == 0:
        if count == 0:  # a factory beside tensors of a level that is over
            op = operator(name)
            return op.call(plain_device(op, args))
        level = _local.stack[count - 1]
    else:
        level = _owner(args, number)
        if count and _local.stack[count - 1].id > number:
            op = operator(name) if name not in _SPECIAL else None
            if op is not None and op.random:
                level = _local.stack[count - 1]
    _set_transforms(below(level))
    if level.over:
        level = Over(level, name)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(level, args[0])
    op = operator(name)
    if op.form == "_out":
        return _write_out(level, op, args)
    if op.order is not None:
        placed = [None] * len(args)
        for i, a in zip(op.order, args):
            placed[i] = a
        args = placed
    return level.process(op, list(args))


def _write_out(level, op, args):
    if level.kind == DUAL:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name} that does not support it because it is an "
            "out= function"
        )
    out, rest = args[0], args[1:]
    placed = list(rest)
    for i, a in zip(op.order or range(len(rest)), rest):
        placed[i] = a
    result = level.process(op.functional(), placed)
    if tuple(out.shape) != tuple(result.shape):
        raise RuntimeError(
            f"{op.entry.name}: inside a function transform a tensor for 'out' keeps its shape, "
            f"{tuple(out.shape)}, but the result has shape {tuple(result.shape)}"
        )
    level.process(operator("copy_"), [out, result, False])
    return out


def _item(level, t):
    return level.item(t)


def _detach(level, t):
    return level.detach(t)


_SPECIAL = {"item": _item, "detach": _detach}


def plain_device(op, args):
    """Arguments of a factory with the device that a user sees."""
    i = op.position.get("device")
    if i is None or args[i] is None or args[i].type != "transform":
        return args
    args = list(args)
    args[i] = _C.device(str(args[i]))
    return args


def tracked(t):
    """``t``, on record at its level from now on (`requires_grad_` is refused in transforms)."""
    t.requires_grad = True
    return t


class GradLevel(Level):
    """Reverse mode: each tensor is another one with a history of its own."""

    kind = GRAD

    def __init__(self):
        super().__init__()
        self.below = _C.is_grad_enabled()  # what the transform was called under holds below it

    def label(self, dim):
        return f"GradTrackingTensor(lvl={self.depth}"

    def wrap(self, t):
        return _C._transform(self, self.id, GRAD, t, None, 0) if isinstance(t, Tensor) else t

    def process(self, op, args):
        if not self.below:
            _C._set_grad_enabled(False)
        if op.changes and self.of(args[0]) is None:
            raise RuntimeError(_captured(op))
        result = op.call(self.values(args))
        if op.changes:
            _refresh(self, args[0])
            return args[0]
        return self.finish(op, args, result)

    def finish(self, op, args, result):
        if isinstance(result, Tensor):
            out = self.wrap(result)
            if op.view and self.of(args[0]) is not None:
                _C._share_version(out, args[0])
            return out
        if isinstance(result, tuple):
            outs = tuple([self.wrap(t) for t in result])
            if op.view and self.of(args[0]) is not None:
                for t in outs:
                    _C._share_version(t, args[0])
            return outs
        return result

    def item(self, t):
        return self.value(t).item()

    def detach(self, t):
        return self.wrap(self.value(t).detach())


class Over:
    """A level that is over: tensors that outlived it are what they stood for."""

    def __init__(self, level, name):
        if level.kind == BATCH:
            raise RuntimeError(
                f"{name}: a tensor has escaped from inside a function being vmapped, where it "
                "stood for a batch; return it from the function instead"
            )
        self.value, self.values = level.value, level.values

    def process(self, op, args):
        return op.call(self.values(args))

    def item(self, t):
        return self.value(t).item()

    def detach(self, t):
        return self.value(t).detach()


def _refresh(level, t):
    """After a change in place, which may have given the value another geometry."""
    record = level.of(t)
    if tuple(record[3].shape) != tuple(t.shape):
        _C._transform_set(t, record[3], record[4])


def _captured(op):
    return (
        f"During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call "
        f"in-place operation (aten::{op.entry.base}{op.form}) that would mutate a captured Tensor. "
        "This is not supported; please rewrite the function being transformed to explicitly accept "
        "the mutated Tensor(s) as inputs."
    )


# ---- below other levels --------------------------------------------------------------------------


def rebuilt(t, level, f):
    """``t`` with ``f`` applied to what of it lies below all levels above ``level``."""
    if not isinstance(t, Tensor) or _level_of(t) <= level.id:
        return f(t)
    owner, number, kind, value, tangent, dim = _transform_of(t)
    if tangent is not None:
        tangent = rebuilt(tangent, level, f)
    return _C._transform(owner, number, kind, rebuilt(value, level, f), tangent, dim)


def stripped(t, level):
    """``t`` without ``level``, also where tensors of higher levels stand for ones of it."""
    return rebuilt(t, level, level.value) if isinstance(t, Tensor) else t


def lifted(t, level):
    """``t`` as a tensor of ``level``, below those of higher levels."""

    def wrap(x):
        return x if _level_of(x) == level.id else level.wrap(x)

    return rebuilt(t, level, wrap) if isinstance(t, Tensor) else t


_C._set_dispatcher(dispatch)
