"""RAdam: Adam with a rectified variance."""

from __future__ import annotations

from flambeau._C import ops

from ._common import (
    as_real,
    check_betas,
    check_lr,
    check_non_negative,
    new_step,
    setdefaults,
    sqrt,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer
from .adam import _check_eps


class RAdam(DenseOptimizer):
    """RAdam: uses the second moment only once enough steps make its variance tractable.

    Args:
        params: tensors, named tensors or parameter groups.
        lr, betas, eps, weight_decay, decoupled_weight_decay: as in `Adam`.
        foreach, maximize, capturable, differentiable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        _check_eps(eps)
        check_betas(betas)
        check_non_negative("weight_decay", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "capturable": False, "differentiable": False}
        setdefaults(self, {"foreach": None, "decoupled_weight_decay": False, **defaults})
        tensor_steps(self)

    def _init_state(self, state, p, grad, group):
        state["step"] = new_step()
        state["exp_avg"] = ops.zeros_like(p)
        state["exp_avg_sq"] = ops.zeros_like(p)

    def _state_keys(self, group):
        return ("exp_avg", "exp_avg_sq"), ("step",)

    def _run(self, group, params, grads, exp_avgs, exp_avg_sqs, steps):
        beta1, beta2 = group["betas"]
        ops._radam_step_(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            steps,
            to_scalar(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        lr, (beta1, beta2) = group["lr"], group["betas"]
        weight_decay = group["weight_decay"]
        state["step"] += 1
        if not group["differentiable"]:
            lr = to_scalar(lr)
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(p, alpha=weight_decay)
        p, grad, exp_avg, exp_avg_sq = as_real(p, grad, state["exp_avg"], state["exp_avg_sq"])
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step = state["step"].item()
        update = exp_avg / (1 - beta1**step) * lr
        correction = 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / correction
        if rho > 5.0:
            rect = (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
            update = update * (sqrt(correction) / exp_avg_sq.sqrt().add(group["eps"]))
            update = update * sqrt(rect)
        p.add_(update, alpha=-1.0)
