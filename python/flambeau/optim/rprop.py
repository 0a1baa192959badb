"""Rprop: steps from the signs of the gradient."""

from __future__ import annotations

from flambeau._C import ops

from ._common import as_real, check_lr, new_step, setdefaults, tensor_steps, to_scalar
from ._dense import DenseOptimizer


class Rprop(DenseOptimizer):
    """Resilient backpropagation: a step size per element, grown or shrunk by sign changes.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: the first step size.
        etas: factors for a sign change and for a kept sign.
        step_sizes: smallest and largest step size.
        capturable, foreach, maximize, differentiable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}, expected 0 < . < 1 < .")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "differentiable": False, "capturable": False}
        setdefaults(self, {"foreach": None, **defaults})
        tensor_steps(self)

    def _init_state(self, state, p, grad, group):
        lr = to_scalar(group["lr"])
        state["step"] = new_step()
        state["prev"] = ops.zeros_like(p)
        state["step_size"] = ops.full_like(grad, complex(lr, lr) if p.is_complex() else lr)

    def _state_keys(self, group):
        return ("prev", "step_size"), ("step",)

    def _run(self, group, params, grads, prevs, step_sizes, steps):
        (eta_minus, eta_plus), (smallest, largest) = group["etas"], group["step_sizes"]
        ops._rprop_step_(
            params,
            grads,
            prevs,
            step_sizes,
            steps,
            eta_minus,
            eta_plus,
            smallest,
            largest,
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        (eta_minus, eta_plus), (smallest, largest) = group["etas"], group["step_sizes"]
        state["step"] += 1
        p, grad, prev, step_size = as_real(p, grad, state["prev"], state["step_size"])
        agreement = grad.mul(prev.clone()).sign()
        changed = agreement.lt(0)
        factor = ops.ones_like(agreement)
        factor = factor.masked_fill(agreement.gt(0), eta_plus).masked_fill(changed, eta_minus)
        step_size.mul_(factor).clamp_(smallest, largest)
        # Where the sign changed the element stays, and the next step starts afresh.
        grad = grad.masked_fill(changed, 0)
        p.addcmul_(grad.sign(), step_size.clone(), value=-1)
        prev.copy_(grad)
