"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from flambeau._C import ops

from ._common import (
    as_real,
    check_betas,
    check_lr,
    check_non_negative,
    new_step,
    setdefaults,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer
from .adam import _check_eps


class Adamax(DenseOptimizer):
    """Adamax: the denominator is a decaying maximum of the gradient's magnitude.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: learning rate.
        betas: decay of the mean gradient and of the maximum.
        eps: added to the gradient's magnitude.
        weight_decay: L2 penalty added to the gradient.
        foreach, maximize, differentiable, capturable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
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
        state["step"] = new_step()
        state["exp_avg"] = ops.zeros_like(p)
        state["exp_inf"] = ops.zeros_like(p)

    def _state_keys(self, group):
        return ("exp_avg", "exp_inf"), ("step",)

    def _run(self, group, params, grads, exp_avgs, exp_infs, steps):
        beta1, beta2 = group["betas"]
        ops._adamax_step_(
            params,
            grads,
            exp_avgs,
            exp_infs,
            steps,
            to_scalar(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p, grad, exp_avg, exp_inf = as_real(p, grad, state["exp_avg"], state["exp_inf"])
        exp_avg.lerp_(grad, 1 - beta1)
        largest = ops.maximum(exp_inf * beta2, grad.abs().add_(group["eps"]))
        exp_inf.copy_(largest)
        step_size = group["lr"] / (1 - beta1 ** state["step"].item())
        if group["differentiable"]:
            p.sub_(exp_avg.clone() / largest * step_size)
        else:
            p.addcdiv_(exp_avg, exp_inf, value=-to_scalar(step_size))
