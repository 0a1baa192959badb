"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from flambeau._C import ops

from ._common import (
    as_real,
    check_betas,
    check_lr,
    check_non_negative,
    new_step,
    scalar_dtype,
    setdefaults,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer
from .adam import _check_eps


class NAdam(DenseOptimizer):
    """NAdam: Adam whose momentum looks one step ahead.

    Args:
        params: tensors, named tensors or parameter groups.
        lr, betas, eps, weight_decay, decoupled_weight_decay: as in `Adam`.
        momentum_decay: how the momentum grows over the steps.
        foreach, maximize, capturable, differentiable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
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
        check_non_negative("momentum_decay", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "capturable": False, "differentiable": False}
        setdefaults(self, {"foreach": None, "decoupled_weight_decay": False, **defaults})
        tensor_steps(self, ("step", "mu_product"))

    _capturable_names = "params, mu_products and state_steps"

    def _init_state(self, state, p, grad, group):
        state["step"] = new_step()
        state["mu_product"] = ops.ones((), dtype=scalar_dtype())
        state["exp_avg"] = ops.zeros_like(p)
        state["exp_avg_sq"] = ops.zeros_like(p)

    def _state_keys(self, group):
        return ("exp_avg", "exp_avg_sq"), ("step", "mu_product")

    def _run(self, group, params, grads, exp_avgs, exp_avg_sqs, steps, mu_products):
        beta1, beta2 = group["betas"]
        ops._nadam_step_(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            steps,
            mu_products,
            to_scalar(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            group["momentum_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        lr, (beta1, beta2) = group["lr"], group["betas"]
        differentiable, weight_decay = group["differentiable"], group["weight_decay"]
        state["step"] += 1
        if not differentiable:
            lr = to_scalar(lr)
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(p, alpha=weight_decay)
        p, grad, exp_avg, exp_avg_sq = as_real(p, grad, state["exp_avg"], state["exp_avg_sq"])
        step, mu_product = state["step"].item(), state["mu_product"]
        decay = group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        mu_product *= mu
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = exp_avg_sq.div(1 - beta2**step).sqrt().add(group["eps"])
        product = mu_product.clone() if differentiable else mu_product.item()
        grad_scale = -lr * (1.0 - mu) / (1.0 - product)
        avg_scale = -lr * mu_next / (1.0 - product * mu_next)
        if differentiable:
            p.addcdiv_(grad * grad_scale, denom)
            p.addcdiv_(exp_avg.clone() * avg_scale, denom)
        else:
            p.addcdiv_(grad, denom, value=grad_scale)
            p.addcdiv_(exp_avg, denom, value=avg_scale)
