"""Saving and loading of a module's state: the methods of `Module` that deal with `state_dict`."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from flambeau._C import Tensor
from flambeau.autograd import no_grad
from flambeau.nn.parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    def __str__(self):
        return repr(self)


def get_extra_state(self) -> Any:
    """What `state_dict` saves beside tensors. Override it together with `set_extra_state`."""
    raise RuntimeError(
        "Reached a code path in Module.get_extra_state() that should never be called. "
        "Override it together with set_extra_state()."
    )


def set_extra_state(self, state: Any) -> None:
    """Takes back what `get_extra_state` gave."""
    raise RuntimeError(
        "Reached a code path in Module.set_extra_state() that should never be called. "
        "Override it together with get_extra_state()."
    )


def save_to_state_dict(self, destination, prefix, keep_vars):
    """Puts the module's own parameters, buffers and extra state into destination."""
    for name, param in self._parameters.items():
        if param is not None:
            destination[prefix + name] = param if keep_vars else param.detach()
    for name, buffer in self._buffers.items():
        if buffer is not None and name not in self._non_persistent_buffers_set:
            destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if type(self).get_extra_state is not get_extra_state:
        destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()


def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
    """The parameters and persistent buffers by dotted name.

    Args:
        destination: a dictionary to fill instead of a new one.
        prefix: put before every name.
        keep_vars: keep the tensors attached to the graph instead of detached.

    Example:
        >>> list(nn.Linear(1, 1).state_dict())
        ['weight', 'bias']
    """
    if args:
        warnings.warn(
            "Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2
        )
        destination = args[0] if destination is None else destination
        prefix = args[1] if len(args) > 1 and prefix == "" else prefix
        keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    local_metadata = {"version": self._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook in self._state_dict_pre_hooks.values():
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, module in self._modules.items():
        if module is not None:
            module.state_dict(
                destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
            )
    for hook in self._state_dict_hooks.values():
        result = hook(self, destination, prefix, local_metadata)
        if result is None:
            continue
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = result
    return destination


def load_from_state_dict(
    self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
):
    """Takes the module's own state, without that of submodules, out of state_dict.

    Problems are appended to the three lists. ``local_metadata["version"]`` tells a class that
    overrides this which format it reads.
    """
    for hook in self._load_state_dict_pre_hooks.values():
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    buffers = (
        (k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set
    )
    members = itertools.chain(self._parameters.items(), buffers)
    local_state = {k: v for k, v in members if v is not None}
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, param in local_state.items():
        key = prefix + name
        if key in state_dict:
            problem = _load_one(self, name, param, key, state_dict[key], assign)
            if problem:
                error_msgs.append(problem)
        elif strict:
            missing_keys.append(key)
    extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
    if type(self).set_extra_state is not set_extra_state:
        if extra_key in state_dict:
            self.set_extra_state(state_dict[extra_key])
        elif strict:
            missing_keys.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected_keys.append(extra_key)
    if strict:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else local_state):
                    unexpected_keys.append(key)


def _load_one(module, name, param, key, value, assign):
    """Loads one tensor; returns what is wrong with it, if anything."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    if not is_lazy(param):
        if param.dim() == 0 and value.dim() == 1:  # scalars of very old checkpoints
            value = value[0]
        if value.shape != param.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {param.shape}."
            )
    if param.is_meta and not value.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter "
            "in the current model, which is a no-op. (Did you mean to pass `assign=True` to "
            "assign items in the state dictionary to their corresponding key in the module "
            "instead of copying them in place?)",
            stacklevel=5,
        )
    try:
        with no_grad():
            if assign:
                _assign(module, name, param, value)
            else:
                param.copy_(value)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{param.size()} and whose dimensions in the checkpoint are {value.size()}, an "
            f"exception occurred : {error.args}."
        )
    return None


def _assign(module, name, param, value):
    if isinstance(param, Parameter):
        if isinstance(value, Parameter):
            value.requires_grad_(param.requires_grad)
        else:
            value = Parameter(value, requires_grad=param.requires_grad)
    setattr(module, name, value)


def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False):
    """Copies parameters and buffers from a dictionary as `state_dict` makes it.

    Args:
        state_dict: tensors by dotted name.
        strict: names must match exactly.
        assign: put the given tensors in place of the module's instead of copying their values.

    Returns:
        A pair ``(missing_keys, unexpected_keys)``.

    Raises:
        RuntimeError: names (with strict) or shapes do not match; lists all of them.
        TypeError: state_dict is no mapping.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    missing_keys: list[str] = []
    unexpected_keys: list[str] = []
    error_msgs: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    state_dict = OrderedDict(state_dict)
    if metadata is not None:
        state_dict._metadata = metadata

    def load(module, local_state_dict, prefix=""):
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        # Strict or not is looked at once, at the end: hooks may still change the lists.
        module._load_from_state_dict(
            local_state_dict,
            prefix,
            local_metadata,
            True,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                below = {k: v for k, v in local_state_dict.items() if k.startswith(child_prefix)}
                load(child, below, child_prefix)
        keys = _IncompatibleKeys(missing_keys, unexpected_keys)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    load(self, state_dict)
    if strict:
        for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
            if keys:
                names = ", ".join(f'"{k}"' for k in keys)
                error_msgs.insert(0, f"{kind} key(s) in state_dict: {names}. ")
    if error_msgs:
        details = "\n\t".join(error_msgs)
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}"
        )
    return _IncompatibleKeys(missing_keys, unexpected_keys)


def misleading_backward_hook(inputs, result, grad_fn):
    """Why a hook on grad_fn alone would not see the gradients of the module's inputs, or None."""
    if not isinstance(result, Tensor):
        if not (isinstance(result, tuple) and all(isinstance(r, Tensor) for r in result)):
            return "the forward output is not a single Tensor or a tuple of Tensors"
    else:
        result = (result,)
    if not isinstance(inputs, Tensor):
        if not (isinstance(inputs, tuple) and all(isinstance(i, Tensor) for i in inputs)):
            return "the forward input is not a single Tensor or a tuple of Tensors"
    else:
        inputs = (inputs,)
    producers = {r.grad_fn for r in result if r.grad_fn is not None}
    if len(producers) > 1 or (len(producers) == 1 and grad_fn not in producers):
        return "the forward output is generated by multiple autograd Nodes"
    direct = {i.grad_fn for i in inputs if i.grad_fn is not None}
    if direct != {f[0] for f in grad_fn.next_functions}:
        return "the forward contains multiple autograd Nodes"
    return None
