"""Trading time for memory: parts of a model keep nothing for backward and run again there."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
import weakref

from flambeau import _C
from flambeau._C import Tensor
from flambeau._functional import get_rng_state, set_rng_state
from flambeau.autograd import backward as _backward
from flambeau.autograd.function import Function
from flambeau.autograd.graph import saved_tensors_hooks

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "DefaultDeviceType",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_debug_enabled: bool | None = None
_early_stop_enabled: bool | None = None


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not keep what the first one did."""


class _StopRecomputation(Exception):
    """Raised in the second run when all that backward needs is there."""


class DefaultDeviceType:
    """The device type that checkpoints use when no argument lies on another one than the CPU."""

    _default = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default


def detach_variable(inputs):
    """A tuple like ``inputs``, its tensors detached but with their ``requires_grad``."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            + type(inputs).__name__
        )
    out = []
    for value in inputs:
        if isinstance(value, Tensor):
            needs, value = value.requires_grad, value.detach()
            value.requires_grad = needs
        out.append(value)
    return tuple(out)


def check_backward_validity(inputs):
    """Warns when no tensor of ``inputs`` requires grad."""
    if not any(isinstance(i, Tensor) and i.requires_grad for i in inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def get_device_states(*args):
    """Ids and random states of the devices of ``args`` other than the CPU: there are none."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Restores what get_device_states returned."""


def noop_context_fn():
    """The default ``context_fn``: two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _setting(name, value):
    before = globals()[name]
    globals()[name] = value
    try:
        yield
    finally:
        globals()[name] = before


def set_checkpoint_debug_enabled(enabled):
    """Context: whether checkpoints run with ``debug``; None: as each was given."""
    return _setting("_debug_enabled", enabled)


def set_checkpoint_early_stop(enable):
    """Context: whether checkpoints made in it stop their second run as early as they can."""
    return _setting("_early_stop_enabled", enable)


class _Surroundings:
    """The random state and the autocast mode of the first run, for the second one."""

    def __init__(self, preserve_rng_state):
        self.rng = get_rng_state() if preserve_rng_state else None
        self.autocast = _C._get_autocast()

    @contextlib.contextmanager
    def restored(self):
        autocast = _C._get_autocast()
        if self.rng is not None:
            rng = get_rng_state()
            set_rng_state(self.rng)
        _C._set_autocast(*self.autocast)
        try:
            yield
        finally:
            _C._set_autocast(*autocast)
            if self.rng is not None:
                set_rng_state(rng)


@contextlib.contextmanager
def _grad_enabled():
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        yield
    finally:
        _C._set_grad_enabled(before)


# ---- the reentrant kind: one node that runs a backward of its own


class CheckpointFunction(Function):
    """The reentrant checkpoint: its backward runs the function again and a backward through it."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.tensor_indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _C._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[i] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.restored(), _grad_enabled():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        pairs = [
            (o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        _backward([o for o, _ in pairs], [g for _, g in pairs])
        found = (d.grad if isinstance(d, Tensor) else None for d in detached)
        return (None, None, *found)


# ---- the other kind: saved tensors are place holders that the second run fills


class _Holder:
    """What stands for a saved tensor; `value` is there from a second run until its use."""

    __slots__ = ("__weakref__", "value")

    def __init__(self):
        self.value = None


class _KeepInputs(Function):
    """Saves the tensors among the arguments: hooks around the checkpoint see them, and they live as
    long as the graph needs them."""

    @staticmethod
    def forward(ctx, anchor, *tensors):
        ctx.save_for_backward(*tensors)
        return anchor.detach()

    @staticmethod
    def backward(ctx, grad):
        raise AssertionError("nothing leads to this node")


def _describe(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM_CHECKS = {"default": _describe, "none": lambda tensor: None}


def _line_of_call():
    """The innermost line of the user that runs now."""
    here = __file__.rsplit("/", 2)[0]
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(here):
            return f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    return "?"


class _Frame:
    """One call of a checkpointed function."""

    def __init__(self, function, args, kwargs, surroundings, context, early_stop, check, debug):
        self.function, self.kwargs = function, kwargs
        self.surroundings, self.context = surroundings, context
        self.early_stop, self.check, self.debug = early_stop, check, debug
        self.plain = [None if isinstance(a, Tensor) else a for a in args]
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        anchor = _C.ops.empty((0,), requires_grad=True)
        self.keeper = _KeepInputs.apply(anchor, *[args[i] for i in self.places]).grad_fn
        self.holders: list = []  # weak references, in the order of saving
        self.facts: list = []
        self.lines: list = []
        self.new_lines: list = []  # of the second run
        self.differences: list = []
        self.complete = False  # the first run has ended
        self.filled_in = None  # number of the backward that the values belong to

    # first run
    def pack(self, tensor):
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.facts.append(self.check(tensor))
        if self.debug:
            self.lines.append(_line_of_call())
        return holder

    def unpack(self, holder):
        run = _C._backward_id()
        if holder.value is None or (run and run != self.filled_in):
            self.fill(run)
        value = holder.value
        if value is None:
            self.fail_count(self.recomputed)
        if not run:
            self.clear()
        return value

    # second run
    def fill(self, run):
        self.clear()
        args = list(self.plain)
        for i, tensor in zip(self.places, self.keeper.saved_tensors):
            args[i] = tensor
        self.recomputed = 0
        self.new_lines, self.differences = [], []
        self.filled_in = run
        try:
            with (
                contextlib.suppress(_StopRecomputation),
                self.surroundings.restored(),
                _grad_enabled(),
                self.context,
                saved_tensors_hooks(self.repack, _unexpected),
            ):
                self.function(*args, **self.kwargs)
        finally:
            if run:
                _C._queue_callback(self.clear)
        if self.differences:
            self.fail_facts()
        if self.recomputed != len(self.holders) and self.complete:
            self.fail_count(self.recomputed)

    def repack(self, tensor):
        at = self.recomputed
        self.recomputed += 1
        if at >= len(self.holders):
            if not self.complete:
                return None  # backward runs inside the function: more of it is to come
            if not self.early_stop:
                return None  # counted, and reported at the end
            raise CheckpointError(
                "checkpoint: trying to save more tensors during recomputation than during the "
                "original forward pass."
            )
        if self.debug:
            self.new_lines.append(_line_of_call())
        holder = self.holders[at]()
        if holder is not None:
            holder.value = tensor.detach()
            found = self.check(tensor)
            if found != self.facts[at]:
                self.differences.append((at, self.facts[at], found))
        if self.early_stop and self.recomputed == len(self.holders) and self.complete:
            raise _StopRecomputation
        return tensor.detach()

    def clear(self):
        for reference in self.holders:
            holder = reference()
            if holder is not None:
                holder.value = None
        self.filled_in = None

    # errors
    def advice(self):
        if not self.debug:
            return (
                "\n\nTip: To see which lines saved the tensors, pass `debug=True` to "
                "checkpoint(...) or use `with set_checkpoint_debug_enabled(True):`."
            )
        first = "".join(f"\n  {i}: {line}" for i, line in enumerate(self.lines))
        second = "".join(f"\n  {i}: {line}" for i, line in enumerate(self.new_lines))
        return (
            "\n\nLines that saved tensors in the original forward:"
            f"{first}\nLines that saved tensors in the recomputation:{second}"
        )

    def fail_count(self, count):
        raise CheckpointError(
            "checkpoint: A different number of tensors was saved during the original forward and "
            f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
            f"Number of tensors saved during recomputation: {count}.{self.advice()}"
        )

    def fail_facts(self):
        rows = "".join(
            f"\ntensor at position {at}:\nsaved metadata: {old}\nrecomputed metadata: {new}"
            for at, old, new in self.differences
        )
        raise CheckpointError(
            "checkpoint: Recomputed values for the following tensors have different metadata than "
            f"during the forward pass.{rows}{self.advice()}"
        )


def _unexpected(packed):
    """For tensors saved in the second run: their graph is never run, unless inside it."""
    return packed


def _in_transform(args):
    """Whether a function transform runs, whose tensors are kept: nothing is run again then."""
    module = sys.modules.get("flambeau._transforms.interpreter")
    if module is None:
        return False
    levels = module.active()
    if any(level.kind == module.GRAD for level in levels):
        raise RuntimeError(
            "checkpoint: torch.func.{grad, vjp, jacrev, hessian} don't support saved tensor hooks, "
            "which it is made of"
        )
    return bool(levels) or any(isinstance(a, Tensor) and _C._transform_level(a) != 0 for a in args)


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """Runs ``function(*args, **kwargs)`` without keeping its intermediate values for backward.

    Backward calls the function again to get them. It must then do the same: the random state
    (``preserve_rng_state``) and the autocast mode are restored for it.

    Args:
        use_reentrant: False (recommended) works with every kind of backward and nested structures;
            True runs a backward of its own, which needs an input that requires grad.
        context_fn: returns two context managers, for the first and the second run.
        determinism_check: "default" compares shapes, dtypes and devices of what both runs keep,
            "none" does not.
        debug: errors list the lines that kept tensors in both runs.
        early_stop: the second run ends when it has all that is needed.

    >>> from flambeau.utils.checkpoint import checkpoint
    >>> x = flambeau.ones(2, requires_grad=True)
    >>> checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False).sum().backward()
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_DETERMINISM_CHECKS)}, but got "
            f"{determinism_check}"
        )
    if not callable(context_fn):
        raise TypeError(f"context_fn must be callable, got {type(context_fn).__name__}")
    first_context, second_context = context_fn()
    if not _C.is_grad_enabled():
        with first_context:
            return function(*args, **kwargs)
    if _in_transform(args):
        with first_context:
            return function(*args, **kwargs)
    frame = _Frame(
        function,
        args,
        kwargs,
        _Surroundings(preserve),
        second_context,
        early_stop if _early_stop_enabled is None else _early_stop_enabled,
        _DETERMINISM_CHECKS[determinism_check],
        debug if _debug_enabled is None else _debug_enabled,
    )
    with first_context, saved_tensors_hooks(frame.pack, frame.unpack):
        out = function(*args, **kwargs)
    frame.complete = True
    return out


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs a chain of functions (a Sequential or a list), all segments but the last checkpointed.

    Args: ``segments``: into how many parts of equal length the chain is cut.

    >>> from flambeau.utils.checkpoint import checkpoint_sequential
    >>> model = flambeau.nn.Sequential(*[flambeau.nn.Linear(4, 4) for _ in range(4)])
    >>> x = flambeau.ones(1, 4)
    >>> checkpoint_sequential(model, 2, x, use_reentrant=False).shape
    flambeau.Size([1, 4])
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def chain(start, end):
        def run(value):
            for part in parts[start:end]:
                value = part(value)
            return value

        return run

    length = len(parts) // segments
    if length == 0:
        raise ValueError(
            f"checkpoint_sequential: cannot cut {len(parts)} functions into {segments} segments"
        )
    end = 0
    for end in range(length, length * segments, length):
        input = checkpoint(
            chain(end - length, end),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return chain(end, len(parts))(input)
