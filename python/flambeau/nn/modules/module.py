"""`Module`, the base class of all networks and layers.

A module keeps its parameters, buffers and submodules in three dictionaries, and finds them as
attributes through `__getattr__`. The dictionaries are the truth: code may change them directly.
Hooks run in `_hooks`, saving and loading of state in `_state`.
"""

# ruff: noqa: F401 - PyTorch's module of this name holds the global hooks too

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from flambeau._C import Tensor, ops
from flambeau.nn.parameter import Buffer, Parameter

from . import _hooks, _state
from ._convert import converted, parse_to
from ._explain import explain
from ._hooks import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    _WrappedHook,
    add_hook,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state import _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# By this module's name they are pickled, also into PyTorch's files.
_WrappedHook.__module__ = _IncompatibleKeys.__module__ = __name__

_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _addindent(text, spaces):
    return text.replace("\n", "\n" + " " * spaces)


def _forward_unimplemented(self, *input):
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


def _typename(value):
    """The class as error messages show it; tensors by their legacy type."""
    if isinstance(value, Tensor):
        return value.type()
    module = type(value).__module__
    name = type(value).__name__
    return name if module in ("builtins", "__builtin__") else f"{module}.{name}"


def _check_name(kind, name):
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if "." in name:
        got = f", got: {name}" if kind == "module" else ""
        raise KeyError(f'{kind} name can\'t contain "."{got}')


class Module:
    """Base class of all networks.

    Parameters, buffers and modules assigned as attributes are registered; `forward` holds the
    computation, and calling the module runs it between the registered hooks.

    Example:
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.fc(x).relu()
        >>> Net()
        Net(
          (fc): Linear(in_features=4, out_features=2, bias=True)
        )
    """

    dump_patches: bool = False
    # The format of the class's saved state; `_load_from_state_dict` finds it in local_metadata.
    _version: int = 1
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _is_full_backward_hook: bool | None
    call_super_init: bool = False
    _compiled_call_impl = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(f"{name} got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name} takes 1 positional argument but {len(args) + 1} were given")
        # Straight into __dict__: nothing here needs the rules of __setattr__.
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_backward_pre_hooks"] = OrderedDict()
        state["_backward_hooks"] = OrderedDict()
        state["_is_full_backward_hook"] = None
        for name in _HOOK_DICTS[2:]:
            state[name] = OrderedDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Any = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            explain(error, _CALL)
            raise

    _call_impl = _wrapped_call_impl = __call__

    # Registration -----------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is state but not a parameter.

        Args:
            name: the attribute under which it is found.
            tensor: the buffer; None keeps the name without a tensor.
            persistent: whether it is part of `state_dict`.

        Raises:
            KeyError: the name is taken, empty or contains a dot.
            TypeError: name is no string or tensor no tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        for hook in _global_buffer_registration_hooks.values():
            output = hook(self, name, tensor)
            if output is not None:
                tensor = output
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, found as an attribute of that name; None keeps the name only.

        Raises:
            KeyError: the name is taken, empty or contains a dot.
            TypeError: name is no string or param no parameter.
            ValueError: param is the result of operators, not a leaf.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, "
                "compute the value in the forward() method."
            )
        for hook in _global_parameter_registration_hooks.values():
            output = hook(self, name, param)
            if output is not None:
                param = output
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule, found as an attribute of that name.

        Raises:
            KeyError: the name is taken, empty or contains a dot.
            TypeError: name is no string or module no module.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        _check_name("module", name)
        self._modules[name] = _module_registered(self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    # Attributes -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if "_parameters" in state:
            members = state["_parameters"]
            if name in members:
                return members[name]
            members = state["_buffers"]
            if name in members:
                return members[name]
            members = state["_modules"]
            if name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        params = state.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if params is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._modules[name] = _module_registered(self, name, value)
        elif params is not None and name in state["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._modules[name] = _module_registered(self, name, value)
        elif isinstance(value, Buffer) or (params is not None and name in state["_buffers"]):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if name in self._buffers:
            persistent = name not in self._non_persistent_buffers_set
        else:  # only a Buffer comes here
            persistent = getattr(value, "persistent", True)
            self._forget(name, "_buffers")
        self.register_buffer(name, value, persistent)

    def _forget(self, name, keep):
        """Frees a name for a member of the dictionary keep, where it stays in its place."""
        state = self.__dict__
        state.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != keep:
                state[kind].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        # Modules saved by older releases lack some dictionaries.
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # Lookup by path ---------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path such as ``"encoder.0"``; the module itself for ``""``.

        Raises:
            AttributeError: the path leads nowhere or to something that is no module.
        """
        module: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a dotted path; with strict it must replace an existing one.

        Raises:
            AttributeError: the path leads through something that is no module.
            ValueError: target is empty or module no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        exists = hasattr(parent, name)
        if not exists and (strict or not path):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if exists and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path; AttributeError where there is none."""
        return self._get_member(
            target, lambda m, name: isinstance(getattr(m, name), Parameter), "an nn.Parameter"
        )

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path; AttributeError where there is none."""
        return self._get_member(target, lambda m, name: name in m._buffers, "a buffer")

    def _get_member(self, target, accept, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if not accept(module, name):
            raise AttributeError(f"`{name}` is not {kind}")
        return getattr(module, name)

    # Conversion -------------------------------------------------------------------------------

    def _apply(self, fn, recurse=True):
        """Replaces the values of all parameters, their gradients and buffers by `fn` of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = converted(param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn):
        """Calls `fn` on every submodule, children first, and on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Moves or casts parameters and buffers, in place.

        ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype)``, ``to(tensor)``; also
        ``memory_format=``, for tensors of 4 or 5 dimensions. Integers keep their dtype.

        Raises:
            TypeError: dtype is not floating point or complex.
            NotImplementedError: a parameter is on the meta device and has no values to move.

        Example:
            >>> nn.Linear(1, 1).to(flambeau.float64).weight.dtype
            torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, "
                f"but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature; some modules might not work as expected when "
                "using complex tensors as parameters or buffers.",
                stacklevel=2,
            )

        def convert(t):
            options = {"device": device, "non_blocking": non_blocking}
            if t.dtype.is_floating_point or t.dtype.is_complex:
                options["dtype"] = dtype
            if memory_format is not None and t.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return t.to(**options)
            except NotImplementedError as error:
                if "Cannot copy out of meta tensor" not in str(error):
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse: bool = True):
        """Moves parameters and buffers to a device without their values."""
        return self._apply(lambda t: ops.empty_like(t, device=device), recurse)

    def float(self):
        """Casts floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.dtype.is_floating_point else t)

    def double(self):
        """Casts floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.dtype.is_floating_point else t)

    def half(self):
        """Casts floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.dtype.is_floating_point else t)

    def bfloat16(self):
        """Casts floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.dtype.is_floating_point else t)

    def type(self, dst_type):
        """Casts all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self):
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Moves parameters and buffers to a CUDA device, where there is one."""

        def move(t):
            if not hasattr(t, "cuda"):
                raise AssertionError("Torch not compiled with CUDA enabled")
            return t.cuda(device)

        return self._apply(move)

    def xpu(self, device=None):
        """Moves parameters and buffers to an XPU device, where there is one."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device=None):
        """Moves parameters and buffers to an MTIA device, where there is one."""
        return self._apply(lambda t: t.mtia(device))

    def ipu(self, device=None):
        """Moves parameters and buffers to an IPU device, where there is one."""
        return self._apply(lambda t: t.ipu(device))

    def share_memory(self):
        """Moves parameters and buffers to memory that other processes can map."""
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True):
        """Sets training mode, or evaluation mode with ``mode=False``, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Says for all parameters whether gradients are recorded."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    # Iteration --------------------------------------------------------------------------------

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen: set = set()
        modules = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def parameters(self, recurse: bool = True):
        """The parameters of the module and, unless recurse is False, of all below it."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ):
        """(dotted name, parameter) pairs."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True):
        """The buffers of the module and, unless recurse is False, of all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """(dotted name, buffer) pairs."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self):
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """(name, module) pairs of the direct submodules, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True):
        """The module itself and all below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """(dotted name, module) pairs of the module itself and all below it, parents first."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    # Hooks ------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Calls ``hook(module, args)`` before `forward`; a returned value replaces the arguments.

        With with_kwargs: ``hook(module, args, kwargs)``, which returns None or both, changed.
        """
        marks = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, marks=marks)

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Calls ``hook(module, args, output)`` after `forward`; a returned value replaces it.

        With with_kwargs: ``hook(module, args, kwargs, output)``. With always_call the hook runs
        also when the call raises.
        """
        marks = [
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        ]
        return add_hook(self._forward_hooks, hook, prepend=prepend, marks=marks)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Calls ``hook(module, grad_output)`` before the module's backward pass; a returned
        value replaces the gradients."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Calls ``hook(module, grad_input, grad_output)`` once the gradients of the module's
        inputs are known; a returned value replaces them."""
        self._use_backward_hooks(full=True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """The old form of `register_full_backward_hook`: it sees only the last operator."""
        self._use_backward_hooks(full=False)
        return add_hook(self._backward_hooks, hook)

    def _use_backward_hooks(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _get_backward_hooks(self):
        """(full hooks, old hooks), the global ones first."""
        full: list = []
        non_full: list = []
        is_full = _hooks._global_is_full_backward_hook
        (full if is_full else non_full).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else non_full).extend(self._backward_hooks.values())
        return full, non_full

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn):
        problem = _state.misleading_backward_hook(inputs, result, grad_fn)
        if problem:
            warnings.warn(
                f"Using a non-full backward hook when {problem} is deprecated and will be removed "
                "in future versions. This hook will be missing some grad_input or grad_output. "
                "Please use register_full_backward_hook to get the documented behavior.",
                FutureWarning,
                stacklevel=4,
            )

    def register_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, prefix, keep_vars)`` before `state_dict` collects the module."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata)``, which may change state_dict
        in place and must return None."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before the module loads its state."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        wrapped = _WrappedHook(hook, self if with_module else None)
        return add_hook(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook):
        """Calls ``hook(module, incompatible_keys)`` after the module and those below it loaded;
        it may change the lists in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # State ------------------------------------------------------------------------------------

    get_extra_state = _state.get_extra_state
    set_extra_state = _state.set_extra_state
    _save_to_state_dict = _state.save_to_state_dict
    state_dict = _state.state_dict
    _load_from_state_dict = _state.load_from_state_dict
    load_state_dict = _state.load_state_dict

    # Text -------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """The module's options, as `repr` shows them."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        if lines or children:
            body = "\n  ".join(lines + children)
            return f"{self._get_name()}(\n  {body}\n)"
        return f"{self._get_name()}()"


# The traceback of an error tells by it which modules were being called.
_CALL = Module.__call__.__code__


# Modules read their parameters past __getattr__ only where no subclass has one of its own.
plain_getattr = Module.__getattr__


def _module_registered(parent, name, module):
    for hook in _global_module_registration_hooks.values():
        output = hook(parent, name, module)
        if output is not None:
            module = output
    return module
