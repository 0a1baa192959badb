"""Functions with a user-written backward."""

from __future__ import annotations

import functools

from flambeau import _C
from flambeau._C import Tensor, ops

from .grad_mode import no_grad


class FunctionCtx:
    """What forward and backward of a Function share."""

    def __init__(self):
        self._to_save: tuple = ()
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize, self._saved = True, None
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors for backward, with a check that nothing changes them in place."""
        self._to_save = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self):
        """What save_for_backward kept; only inside backward."""
        return self._to_save if self._saved is None else self._saved

    def mark_dirty(self, *tensors):
        """Names inputs that forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Names outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether backward receives zeros (default) or None for outputs without a gradient."""
        self._materialize = value


class Function:
    """Base of custom differentiable functions: static ``forward`` and ``backward``.

    >>> class Double(flambeau.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    """

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward "
            "mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    generate_vmap_rule = False

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward and records the call for backward."""
        level = max(map(_C._transform_level, args), default=0)
        if level:
            from ._function_transforms import apply_transformed

            return apply_transformed(cls, level, args)
        return cls._apply_here(args, kwargs)

    @classmethod
    def _apply_here(cls, args, kwargs):
        ctx = FunctionCtx()
        ctx._function = cls
        ctx._is_tensor = [isinstance(a, Tensor) for a in args]
        inputs = [a for a in args if isinstance(a, Tensor)]
        recording = _C.is_grad_enabled() and any(t.requires_grad for t in inputs)
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        if not recording:
            return result
        single = isinstance(result, Tensor)
        outputs = [result] if single else list(result)
        given = {id(t) for t in inputs}
        dirty = {id(t) for t in ctx._dirty}
        flat = {id(t) for t in ctx._non_differentiable}
        for i, out in enumerate(outputs):
            if isinstance(out, Tensor) and id(out) in given and id(out) not in dirty:
                with no_grad():
                    outputs[i] = ops.alias(out)  # an input returned as it is: a view of it
                if id(out) in flat:
                    flat.add(id(outputs[i]))
            elif isinstance(out, Tensor) and out.requires_grad and id(out) not in dirty:
                outputs[i] = out.detach()
        tensors = [t for t in outputs if isinstance(t, Tensor)]
        constant = [t for t in tensors if id(t) in flat]
        slots = [i for i, t in enumerate(outputs) if isinstance(t, Tensor)]
        metas = [(tuple(t.shape), t.dtype) if isinstance(t, Tensor) else None for t in outputs]

        def run(ctx, saved, grads):
            full: list[Tensor | None] = [None] * len(metas)
            for i, g in zip(slots, grads):
                full[i] = g
            if ctx._materialize:
                for i, m in enumerate(metas):
                    if full[i] is None and m is not None:
                        full[i] = ops.zeros(m[0], dtype=m[1])
            return _finish(ctx, saved, full)

        _C._attach_function(
            cls.__name__ + "Backward",
            ctx,
            run,
            inputs,
            tensors,
            list(ctx._dirty),
            constant,
            list(ctx._to_save),
        )
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()  # the node keeps ctx: no cycles
        return (
            outputs[0]
            if single
            else type(result)(outputs)
            if type(result) in (tuple, list)
            else tuple(outputs)
        )


def _finish(ctx, saved, grads):
    """backward with all outputs' gradients; checks how many come back."""
    ctx._saved = saved
    try:
        out = ctx._function.backward(ctx, *grads)
    finally:
        ctx._saved = None
    if not isinstance(out, tuple):
        out = (out,)
    want = len(ctx._is_tensor)
    extra = out[want:]
    if len(out) < want or any(g is not None for g in extra):
        raise RuntimeError(
            f"function {ctx._function.__name__}Backward returned an incorrect number of "
            f"gradients (expected {want}, got {len(out)})"
        )
    return tuple(g for g, is_tensor in zip(out, ctx._is_tensor) if is_tensor)


def once_differentiable(function):
    """For backward functions that cannot be differentiated themselves."""

    @functools.wraps(function)
    def wrapped(ctx, *grads):
        with no_grad():
            out = function(ctx, *grads)
        if not (
            _C.is_grad_enabled() and any(isinstance(g, Tensor) and g.requires_grad for g in grads)
        ):
            return out
        items = out if isinstance(out, tuple) else (out,)
        refused = tuple(_Refuse.apply(g, *grads) if isinstance(g, Tensor) else g for g in items)
        return refused if isinstance(out, tuple) else refused[0]

    return wrapped


class _Refuse(Function):
    """Gives its first argument a history that cannot be differentiated."""

    @staticmethod
    def forward(ctx, value, *grads):
        return value.clone()

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
