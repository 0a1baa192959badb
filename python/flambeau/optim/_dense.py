"""The step of optimizers that give every element its own update: one C++ call per group.

The same step with tensor operators stands beside it, for what the kernels do not take: recorded
steps (`differentiable`), tensor subclasses, options that are tensors, state of another dtype. The
kernels keep the operators' order and rounding.
"""

from __future__ import annotations

from flambeau._C import _optimizer_lists, strided
from flambeau.autograd import enable_grad

from ._common import (
    check_capturable,
    check_dense,
    check_fused_param,
    divide_by_scale,
    run_closure,
)
from .optimizer import Optimizer, _use_grad_for_differentiable


class DenseOptimizer(Optimizer):
    """An optimizer whose `step` updates all parameters of a group at once.

    A subclass gives `_state_keys(group)`, the keys of the state tensors that look like the
    parameter and those of the counters; `_init_state(state, p, grad, group)`;
    `_run(group, params, grads, *state)`, the call of the kernel; and
    `_update(p, grad, state, group)`, the step of one parameter with operators.
    """

    _sparse_hint = ""
    _takes_sparse = False
    _capturable_names = "params and state_steps"
    _foreach_differentiates = False
    _first_step_makes_state = False
    _checked_groups = 0  # whether their parameters can be fused

    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        if defaults.get("fused"):
            self._step_supports_amp_scaling = True

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates every parameter that has a gradient.

        Args:
            closure: re-evaluates the model and returns the loss; its value is returned.
        """
        loss = run_closure(closure, enable_grad)
        for group in self.param_groups:
            self._step_group(group)
        self._checked_groups = len(self.param_groups)
        return loss

    def __setstate__(self, state):
        super().__setstate__(state)
        self._checked_groups = 0

    def _step_group(self, group):
        self._check_group(group)
        keys = self._state_keys(group)
        params = group["params"]
        if type(params) is not list:
            params = list(params)
        lists, fresh, others = _optimizer_lists(params, self.state, *keys)
        if fresh or others:
            self._check_all_dense(fresh + others)
        if fresh and not self._first_step_makes_state:
            self._init_states(fresh, group, keys)
            lists, fresh, others = _optimizer_lists(params, self.state, *keys)
        if group.get("fused") and self._skips_or_unscales(params):
            return
        if self._uses_operators(group):
            others = [p for p in params if p.grad is not None]
        else:
            if lists[0]:
                self._run(group, *lists)
            if fresh:
                others += self._first_step(fresh, group)
        for p in others:
            self._update_one(p, group)

    def _check_group(self, group):
        """Refuses what the group's flags ask for and a CPU cannot do."""
        if group.get("capturable"):
            check_capturable(group, self._capturable_names)
        if group["differentiable"] and group["foreach"] and not self._foreach_differentiates:
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("fused"):
            if self._checked_groups < len(self.param_groups):
                for p in group["params"]:
                    if p.grad is not None:
                        check_fused_param(p)
        elif self._scaler("grad_scale") is not None or self._scaler("found_inf") is not None:
            raise AssertionError("Expected grad_scale and found_inf to be None")

    def _scaler(self, name):
        """What a gradient scaler sets for one step: the scale, or whether it found an infinity."""
        return self.__dict__.get(name)

    def _skips_or_unscales(self, params):
        """Serves the scaler of a fused step; true when the step is not to be."""
        found_inf, scale = self._scaler("found_inf"), self._scaler("grad_scale")
        if found_inf is not None and found_inf.item() == 1:
            return True
        if scale is not None:
            divide_by_scale([p.grad for p in params if p.grad is not None], scale)
        return False

    def _uses_operators(self, group):
        """Whether the kernel cannot make this group's step."""
        return group["differentiable"] or self._has_duplicates

    def _init_states(self, params, group, keys):
        """Makes the state of parameters that have none."""
        for p in params:
            state = self.state[p]
            if not state:
                self._init_state(state, p, p.grad, group)
            for key in (*keys[0], *keys[1]):
                if key not in state:  # an option was switched on after the first step
                    raise KeyError(key)

    def _check_all_dense(self, params):
        if self._takes_sparse:
            return
        for p in params:
            if p.grad.layout is not strided:
                rules = [c for c in type(self).__mro__ if DenseOptimizer in c.__bases__]
                check_dense(rules[-1].__name__, p.grad, self._sparse_hint)

    def _update_one(self, p, group):
        grad = -p.grad if group["maximize"] else p.grad
        self._update(p, grad, self.state[p], group)

    def _state_keys(self, group):
        raise NotImplementedError

    def _init_state(self, state, p, grad, group):
        raise NotImplementedError

    def _run(self, group, params, grads, *state):
        raise NotImplementedError

    def _update(self, p, grad, state, group):
        raise NotImplementedError
