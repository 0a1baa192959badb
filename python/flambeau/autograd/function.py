"""Functions with a user-written backward."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict

from flambeau import _C
from flambeau._C import Tensor

from .grad_mode import no_grad

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What forward and backward of a Function share."""

    to_save: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    needs_input_grad: tuple[bool, ...] = ()
    saved_for_forward: tuple = ()
    _materialize = True
    _record = None

    def save_for_backward(self, *tensors):
        """Keeps tensors for backward, with a check that nothing changes them in place."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp."""
        for tensor in tensors:
            if not (isinstance(tensor, Tensor) or tensor is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    f"non-tensors as attributes on ctx. Got {type(tensor).__name__}"
                )
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self):
        """What save_for_backward kept: in backward, or through ``grad_fn`` of an output."""
        if self._record is not None:
            return self._record.saved()
        return self.to_save or self.saved_for_forward

    def mark_dirty(self, *tensors):
        """Names inputs that forward changed in place."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Names outputs that have no gradient."""
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs):
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically "
            "tracked.",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value):
        """Whether backward receives zeros (default) or None for outputs without a gradient."""
        self._materialize = bool(value)


class BackwardCFunction(FunctionCtx):
    """The context of one call: the class of each Function has a subclass of its own."""

    _forward_cls: type

    @property
    def saved_variables(self):
        return self.saved_tensors

    def apply(self, *grads):
        """Runs the user's backward (or vjp)."""
        cls = self._forward_cls
        if cls.vjp is not Function.vjp:
            if cls.backward is not Function.backward:
                raise RuntimeError(
                    f"{cls.__name__}: Implementing both 'backward' and 'vjp' for a custom Function "
                    "is not allowed. You should only implement one of them."
                )
            return cls.vjp(self, *grads)
        return cls.backward(self, *grads)

    def apply_jvp(self, *tangents):
        """Runs the user's jvp."""
        return self._forward_cls.jvp(self, *tangents)

    def _node(self):
        node = None if self._record is None else self._record.node()
        if node is None:
            raise RuntimeError(f"{type(self).__name__}: this call has no node in a graph")
        return node

    # what a node of the graph offers
    def name(self):
        return type(self).__name__

    @property
    def next_functions(self):
        return self._node().next_functions

    @property
    def metadata(self):
        return self._node().metadata

    def register_hook(self, fn):
        return self._node().register_hook(fn)

    def register_prehook(self, fn):
        return self._node().register_prehook(fn)


class FunctionMeta(type):
    """Gives every Function the class of its contexts."""

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            name + "Backward",
            (BackwardCFunction,),
            {"_forward_cls": cls, "__module__": cls.__module__},
        )


class Function(metaclass=FunctionMeta):
    """Base of custom differentiable functions: static ``forward`` and ``backward``.

    ``forward(ctx, ...)`` computes; or ``forward(...)`` computes and ``setup_context(ctx, inputs,
    output)`` keeps what backward needs.

    >>> class Double(flambeau.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: "
            f"{type(self).__name__}.apply(...)"
        )

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

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward and records the call for backward."""
        if kwargs and cls.setup_context is Function.setup_context:
            args, kwargs = _named_by_position(cls, args, kwargs)
        level = max(map(_C._transform_level, args), default=0)
        if level:
            from ._function_transforms import apply_transformed

            return apply_transformed(cls, level, args)
        return cls._apply_here(args, kwargs)

    @classmethod
    def _apply_here(cls, args, kwargs):
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args, kwargs = _by_position(cls, args, kwargs), {}
        return cls._run(separate, args, kwargs)

    @classmethod
    def _run(cls, separate, args, kwargs):
        ctx = cls._backward_cls()
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        ctx.needs_input_grad = needs
        recording = True in needs and _C.is_grad_enabled()
        with no_grad():
            if separate:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        if not recording:
            return result
        several = isinstance(result, tuple)
        outputs = result if several else (result,)
        outputs = _C._attach_function(ctx, cls.__name__, args, outputs)
        # the node keeps ctx: what ctx kept of results would be a cycle
        for key in ("to_save", "dirty_tensors", "non_differentiable"):
            ctx.__dict__.pop(key, None)
        return outputs if several else outputs[0]


def _named_by_position(cls, args, kwargs):
    """Arguments of a forward that takes ctx; gradients belong to arguments by position."""
    import inspect  # here: it takes long to import

    bound = inspect.signature(cls.forward).bind(None, *args, **kwargs)
    return bound.args[1:], bound.kwargs


def _by_position(cls, args, kwargs):
    """All arguments of forward by position, defaults filled in."""
    known = cls.__dict__.get("_forward_signature")
    if known is None:
        import inspect  # here: it takes long to import

        try:
            signature = inspect.signature(cls.forward)
        except (TypeError, ValueError):
            known = None, 0
        else:
            kinds = [p.kind for p in signature.parameters.values()]
            known = signature, sum(k in (0, 1) for k in kinds)
        cls._forward_signature = known
    signature, count = known
    if not (kwargs or len(args) < count):
        return args
    if signature is None:
        raise TypeError(f"{cls.__name__}: forward has no signature to bind keyword arguments to")
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def once_differentiable(function):
    """For backward functions that cannot be differentiated themselves."""

    @functools.wraps(function)
    def wrapped(ctx, *grads):
        with no_grad():
            out = function(ctx, *grads)
        if not _C.is_grad_enabled():
            return out
        if not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
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


class InplaceFunction(Function):
    """Kept for old code; a Function."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def _flatten(value, out):
    """The tensors of nested lists, tuples and dicts, into `out`; a function that rebuilds."""
    if isinstance(value, Tensor):
        at = len(out)
        out.append(value)
        return lambda tensors: tensors[at]
    if isinstance(value, (list, tuple)):
        parts = [_flatten(v, out) for v in value]
        return lambda tensors: type(value)([p(tensors) for p in parts])
    if isinstance(value, dict):
        pairs = {k: _flatten(v, out) for k, v in value.items()}
        kind = OrderedDict if isinstance(value, OrderedDict) else dict
        return lambda tensors: kind((k, p(tensors)) for k, p in pairs.items())
    return lambda tensors: value


class NestedIOFunction(Function):
    """A Function whose arguments and results are nested lists, tuples and dicts of tensors.

    Subclasses define ``forward_extended(ctx, *nested)`` and ``backward_extended(ctx, *nested)``.
    """

    @classmethod
    def apply(cls, *nested):
        tensors: list[Tensor] = []
        rebuild = _flatten(nested, tensors)
        out = super().apply(rebuild, *tensors)
        return out[0](out[1:])

    @staticmethod
    def forward(ctx, rebuild, *tensors):
        cls = ctx._forward_cls
        out: list[Tensor] = []
        ctx._rebuild_output = _flatten(cls.forward_extended(ctx, *rebuild(tensors)), out)
        return (ctx._rebuild_output, *out)

    @staticmethod
    def backward(ctx, _, *grads):
        nested = ctx._rebuild_output(grads)
        several = isinstance(nested, tuple)
        back = ctx._forward_cls.backward_extended(ctx, *(nested if several else (nested,)))
        flat: list[Tensor] = []
        _flatten(back, flat)
        return (None, *flat)

    @staticmethod
    def forward_extended(ctx, *nested):
        raise NotImplementedError("NestedIOFunction: define forward_extended")

    @staticmethod
    def backward_extended(ctx, *nested):
        raise NotImplementedError("NestedIOFunction: define backward_extended")
