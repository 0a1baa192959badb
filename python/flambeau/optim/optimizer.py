"""The base of all optimizers: parameter groups, per-parameter state, hooks, saving and loading.

A subclass fills `self.state[p]` in its `step`. `Optimizer.__init__` wraps the class's `step` once
so that step hooks run around it.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from flambeau._C import Tensor, _set_grad_enabled, is_grad_enabled
from flambeau.utils.hooks import RemovableHandle

from ._common import process_state_value

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: OrderedDict = OrderedDict()
_global_optimizer_post_hooks: OrderedDict = OrderedDict()


class _RequiredParameter:
    """Marks an option that every parameter group has to give."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` before every `step()` of every optimizer."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` after every `step()` of every optimizer."""
    return _register(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step):
    """Runs `step` recording gradients only when the optimizer is `differentiable`."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        previous = is_grad_enabled()
        _set_grad_enabled(self.defaults.get("differentiable", False))
        try:
            return step(self, *args, **kwargs)
        finally:
            _set_grad_enabled(previous)

    return wrapper


class Optimizer:
    """Base class of all optimizers.

    Args:
        params: iterable of tensors, of `(name, tensor)` pairs, or of dicts that each define a
            parameter group with a `params` key and options of their own.
        defaults: the options of a group that does not give its own.

    Errors: `ValueError` for an empty list, a non-leaf tensor or a parameter in two groups,
    `TypeError` for anything that is not a tensor.

    >>> w = flambeau.ones(2, requires_grad=True)
    >>> optimizer = flambeau.optim.SGD([w], lr=0.5)
    >>> (3 * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([-0.5000, -0.5000])
    """

    # A parameter that stands twice in a group is updated twice, one after the other.
    _has_duplicates = False

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._reset_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}; pass a list, [{'{'}tensor{'}'}]"
            )
        self.state: defaultdict = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _reset_hooks(self):
        for name in (
            "_optimizer_step_pre_hooks",
            "_optimizer_step_post_hooks",
            "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        ):
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    def __getstate__(self):
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._reset_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)
        self._has_duplicates = any(
            len(group["params"]) != len({id(p) for p in group["params"]})
            for group in self.param_groups
        )

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # Steps ------------------------------------------------------------------------------------

    @staticmethod
    def profile_hook_step(func):
        """Wraps a `step` function so that the step hooks run around it."""

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self = args[0]
            if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
                args, kwargs = self._run_pre_hooks(func, args, kwargs)
            out = func(*args, **kwargs)
            if self._optimizer_step_post_hooks or _global_optimizer_post_hooks:
                for hook in chain(
                    list(self._optimizer_step_post_hooks.values()),
                    list(_global_optimizer_post_hooks.values()),
                ):
                    hook(self, args, kwargs)
            return out

        return wrapper

    def _run_pre_hooks(self, func, args, kwargs):
        for hook in chain(
            list(_global_optimizer_pre_hooks.values()),
            list(self._optimizer_step_pre_hooks.values()),
        ):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{func} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {result}."
                )
            args, kwargs = result
        return args, kwargs

    def _patch_step_function(self):
        cls = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        if not getattr(cls.step, "hooked", None):
            step = self.profile_hook_step(cls.step)
            step.hooked = True
            setattr(cls, "step", step)  # noqa: B010 (mypy rejects assigning to a method)

    def step(self, closure=None):
        """Performs one optimization step; every optimizer defines its own."""
        raise NotImplementedError(f"{type(self).__name__} must define step()")

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or zeroes them if `set_to_none` is False."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    # Hooks ------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before `step`; it may return new (args, kwargs)."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after `step`."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` after `state_dict`; it may return a new one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` before loading; it may return a new one."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` after `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Saving and loading -----------------------------------------------------------------------

    def state_dict(self):
        """Returns `{"state": ..., "param_groups": ...}` with parameters replaced by numbers."""
        for pre_hook in list(self._optimizer_state_dict_pre_hooks.values()):
            pre_hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            # a parameter that stands twice has the number of its last place
            for i, p in enumerate(group["params"], start):
                numbers[id(p)] = i
            start += len(group["params"])
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            (numbers[id(key)] if isinstance(key, Tensor) else key): value
            for key, value in self.state.items()
        }
        state_dict = {"state": state, "param_groups": groups}
        for post_hook in list(self._optimizer_state_dict_post_hooks.values()):
            replaced = post_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        return state_dict

    def load_state_dict(self, state_dict):
        """Loads what `state_dict()` returned, cast to the dtype and device of each parameter.

        Errors: `ValueError` when the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for pre_hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            replaced = pre_hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_groups(saved_groups)
        saved_ids = chain.from_iterable(g["params"] for g in saved_groups)
        own = chain.from_iterable(g["params"] for g in self.param_groups)
        params = dict(zip(saved_ids, own))
        state: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast(params[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            post_hook(self)

    def _check_groups(self, saved_groups):
        if len(self.param_groups) != len(saved_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"got {len(saved_groups)}, the optimizer has {len(self.param_groups)}"
            )
        for i, (group, saved) in enumerate(zip(self.param_groups, saved_groups)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group: group {i} has {len(saved['params'])} saved parameters, "
                    f"the optimizer has {len(group['params'])}"
                )

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        return process_state_value(param, value, param_id, param_groups, key)

    # Parameter groups -------------------------------------------------------------------------

    def add_param_group(self, param_group):
        """Adds a group of parameters, a dict with a `params` key and the group's own options.

        Errors: `TypeError` for anything but a dict of tensors, `ValueError` for a non-leaf
        tensor, a missing required option or a parameter that another group has.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        _split_names(param_group, list(params))
        self._check_params(param_group["params"])
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_disjoint(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params):
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}"
                )
            differentiable = self.defaults.get("differentiable", None)
            if not differentiable and not (p.is_leaf or p.retains_grad):
                raise ValueError(
                    "can't optimize a non-leaf Tensor; pass the leaf it was computed from, or "
                    "detach it: tensor.detach().requires_grad_()"
                )

    def _check_disjoint(self, param_group):
        own = {id(p) for p in param_group["params"]}
        if len(param_group["params"]) != len(own):
            self._has_duplicates = True
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error",
                stacklevel=4,
            )
        others = self.param_groups
        if others and ("param_names" in param_group) != ("param_names" in others[0]):
            got = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {got} names to the optimizer"
            )
        if any(id(p) in own for group in others for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")


def _split_names(param_group, params):
    """Splits `(name, tensor)` pairs into the group's `params` and `param_names`."""
    named = [isinstance(p, tuple) for p in params]
    if not any(named):
        param_group["params"] = params
        return
    if not all(named):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    param_group["params"] = [p[1] for p in params]
    param_group["param_names"] = [p[0] for p in params]


def _cast(param, value, param_id, param_groups, key=None):
    """Copies a loaded state value, nested in dicts, lists and tuples, to where its parameter is."""
    if isinstance(value, Tensor):
        return process_state_value(param, value, param_id, param_groups, key)
    if isinstance(value, dict):
        return {k: _cast(param, v, param_id, param_groups, key=k) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_cast(param, v, param_id, param_groups) for v in value)
    return value
