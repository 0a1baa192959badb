"""The step of optimizers that update one parameter at a time with tensor operators.

A subclass gives `_init_state(state, p, grad, group)` and `_update(p, grad, state, group)`.
"""

from __future__ import annotations

from flambeau.autograd import enable_grad

from ._common import check_capturable, check_dense, run_closure
from .optimizer import Optimizer, _use_grad_for_differentiable


class PerParameterOptimizer(Optimizer):
    """An optimizer whose `step` calls `_update` for every parameter that has a gradient."""

    _sparse = False

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates every parameter that has a gradient.

        Args:
            closure: re-evaluates the model and returns the loss; its value is returned.
        """
        loss = run_closure(closure, enable_grad)
        for group in self.param_groups:
            capturable = group.get("capturable")
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if not self._sparse:
                    check_dense(type(self).__name__, grad)
                if capturable:
                    check_capturable(p)
                state = self.state[p]
                if len(state) == 0:
                    self._init_state(state, p, grad, group)
                self._update(p, -grad if group["maximize"] else grad, state, group)
        return loss
