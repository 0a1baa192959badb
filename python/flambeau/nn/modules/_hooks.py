"""Hooks around a module's call: the global ones, and the call that runs them all.

`Module.__call__` comes here only when some hook exists. Backward hooks hang on identity functions
that are put around the inputs and the outputs of the forward pass.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from typing import Any

from flambeau._C import Tensor, is_grad_enabled
from flambeau.autograd import Function
from flambeau.utils.hooks import RemovableHandle

_global_backward_pre_hooks: OrderedDict = OrderedDict()
_global_backward_hooks: OrderedDict = OrderedDict()
_global_forward_pre_hooks: OrderedDict = OrderedDict()
_global_forward_hooks: OrderedDict = OrderedDict()
_global_forward_hooks_always_called: OrderedDict = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict = OrderedDict()
_global_buffer_registration_hooks: OrderedDict = OrderedDict()
_global_module_registration_hooks: OrderedDict = OrderedDict()
_global_parameter_registration_hooks: OrderedDict = OrderedDict()
_global_is_full_backward_hook: bool | None = None


def add_hook(hooks, hook, *, prepend=False, marks=()):
    """Registers a hook; marks are pairs (dictionary, flag), which note the id where flag is set."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    hooks[handle.id] = hook
    for marked, flag in marks:
        if flag:
            marked[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
        for marked, flag in marks:
            if flag:
                marked.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Calls `hook(module, name, buffer)` whenever any module registers a buffer."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Calls `hook(module, name, submodule)` whenever any module registers a submodule."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Calls `hook(module, name, param)` whenever any module registers a parameter."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Calls `hook(module, args)` before the forward pass of every module."""
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Calls `hook(module, args, output)` after the forward pass of every module."""
    return add_hook(
        _global_forward_hooks,
        hook,
        marks=[
            (_global_forward_hooks_with_kwargs, with_kwargs),
            (_global_forward_hooks_always_called, always_call),
        ],
    )


def register_module_backward_hook(hook):
    """Calls `hook(module, grad_input, grad_output)` at the last operator of every module."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is True:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _global_is_full_backward_hook = False
    return add_hook(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """Calls `hook(module, grad_output)` before the backward pass of every module."""
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """Calls `hook(module, grad_input, grad_output)` after the backward pass of every module."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is False:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _global_is_full_backward_hook = True
    return add_hook(_global_backward_hooks, hook)


def _has_any_global_hook():
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


class _WrappedHook:
    """A hook with the module it belongs to put first; the module is held weakly."""

    def __init__(self, hook, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# The call with hooks ------------------------------------------------------------------------------


def call_with_hooks(module, args, kwargs):
    """`module.forward(*args, **kwargs)` between its hooks and the global ones."""
    called: set = set()
    result = None
    try:
        full, non_full = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
        backward = BackwardHook(module, full, pre) if full or pre else None
        if backward:
            args = backward.setup_input_hook(args)
        result = module.forward(*args, **kwargs)
        for key, hook, takes_kwargs, _ in _forward_hooks(module):
            called.add(key)
            replaced = (
                hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)
            )
            if replaced is not None:
                result = replaced
        if backward:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            result = backward.setup_output_hook(result)
        if non_full:
            _hook_last_operator(module, non_full, args, result)
        return result
    except Exception:
        _run_always_called(module, args, kwargs, result, called)
        raise


def _run_forward_pre_hooks(module, args, kwargs):
    hooks = [(h, False) for h in _global_forward_pre_hooks.values()]
    own = module._forward_pre_hooks_with_kwargs
    hooks += [(h, key in own) for key, h in module._forward_pre_hooks.items()]
    for hook, takes_kwargs in hooks:
        if takes_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(module):
    """(key, hook, takes kwargs, always called) of the global hooks, then of the module's own."""
    rows = []
    for scope, hooks, with_kwargs, always in (
        (
            "global module",
            _global_forward_hooks,
            _global_forward_hooks_with_kwargs,
            _global_forward_hooks_always_called,
        ),
        (
            "module",
            module._forward_hooks,
            module._forward_hooks_with_kwargs,
            module._forward_hooks_always_called,
        ),
    ):
        rows += [((scope, k), h, k in with_kwargs, k in always) for k, h in hooks.items()]
    return rows


def _run_always_called(module, args, kwargs, result, called):
    for key, hook, takes_kwargs, always in _forward_hooks(module):
        if not always or key in called:
            continue
        try:
            replaced = (
                hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)
            )
            if replaced is not None:
                result = replaced
        except Exception as error:
            warnings.warn(
                f"{key[0]} forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {error}",
                stacklevel=4,
            )


def _hook_last_operator(module, hooks, args, result):
    # The old kind of backward hook sees the gradients of the operator that made the result.
    tensor = result
    while not isinstance(tensor, Tensor):
        if isinstance(tensor, dict):
            tensor = next(v for v in tensor.values() if isinstance(v, Tensor))
        else:
            tensor = tensor[0]
    if tensor.grad_fn is not None:
        for hook in hooks:
            tensor.grad_fn.register_hook(_WrappedHook(hook, module))
        module._maybe_warn_non_full_backward_hook(args, result, tensor.grad_fn)


# Full backward hooks ------------------------------------------------------------------------------


class BackwardHookFunction(Function):
    """The identity; its node is where the hooks of a module's inputs or outputs hang."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        return args


class BackwardHook:
    """Calls user hooks of one module call with its `grad_input` and `grad_output`.

    The hook on the outputs runs first and keeps `grad_output` for the one on the inputs.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = -1
        self.input_tensors_index: Any = None
        self.n_outputs = -1
        self.output_tensors_index: Any = None

    def setup_input_hook(self, args):
        self.n_inputs = len(args)
        args, self.input_tensors_index = _through_identity(
            args, lambda node: node.register_hook(self._on_inputs)
        )
        return args

    def setup_output_hook(self, result):
        single = not isinstance(result, tuple)
        outputs = (result,) if single else result
        self.n_outputs = len(outputs)
        outputs, self.output_tensors_index = _through_identity(
            outputs, lambda node: node.register_prehook(self._on_outputs)
        )
        return outputs[0] if single else outputs

    def _on_inputs(self, grad_input, _):
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This "
                "happens because the gradient in your nn.Module flows to the Module's input "
                "without passing through the Module's output. Make sure that the output depends "
                "on the input and that the loss is computed based on the output."
            )
        grads = _spread(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            out = hook(self.module, grads, self.grad_outputs)
            if out is not None:
                grads = _as_tuple(out)
                _check_count("Backward hook", "grad_input", len(grads), self.n_inputs)
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_tensors_index)

    def _on_outputs(self, grad_output):
        grads = _spread(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            out = hook(self.module, grads)
            if out is not None:
                grads = _as_tuple(out)
                _check_count("Backward pre hook", "grad_output", len(grads), self.n_outputs)
        self.grad_outputs = grads
        if self.input_tensors_index is None:
            self._fire_without_inputs()
        return tuple(grads[i] for i in self.output_tensors_index)

    def _fire_without_inputs(self):
        if self.user_hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients.",
                stacklevel=5,
            )
        for hook in self.user_hooks:
            out = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None


def _as_tuple(value):
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _spread(index, values, length):
    """A tuple of the given length with the values at the positions in index, None elsewhere."""
    spread = [None] * length
    for i, value in zip(index, values):
        spread[i] = value
    return tuple(spread)


def _check_count(what, name, got, expected):
    if got != expected:
        raise RuntimeError(
            f"{what} returned an invalid number of {name}, got {got}, but expected {expected}"
        )


def _through_identity(args, attach):
    """The tensors among args passed through one identity node; also their positions.

    The positions are None, and args unchanged, where no gradient flows.
    """
    index = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    tensors = [args[i] for i in index]
    if not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
        return args, None
    hooked = BackwardHookFunction.apply(*tensors)
    attach(next(t.grad_fn for t in hooked if t.grad_fn is not None))
    replaced = list(args)
    for i, tensor in zip(index, hooked):
        replaced[i] = tensor
    if isinstance(args, tuple) and hasattr(args, "_make"):
        return type(args)._make(replaced), index
    return tuple(replaced), index
