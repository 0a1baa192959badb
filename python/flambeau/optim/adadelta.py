"""Adadelta."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from ._common import (
    as_real,
    check_lr,
    check_non_negative,
    new_step,
    setdefaults,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer
from .adam import _check_eps


class Adadelta(DenseOptimizer):
    """Adadelta: steps scaled by the ratio of two running root mean squares.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: factor on the step.
        rho: decay of both running means.
        eps: added under the roots.
        weight_decay: L2 penalty added to the gradient.
        foreach, capturable, maximize, differentiable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}, expected 0 <= rho <= 1")
        _check_eps(eps)
        check_non_negative("weight_decay", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "differentiable": False, "capturable": False}
        setdefaults(self, {"foreach": None, **defaults})
        tensor_steps(self)

    def _init_state(self, state, p, grad, group):
        state["step"] = new_step()
        state["square_avg"] = ops.zeros_like(p)
        state["acc_delta"] = ops.zeros_like(p)

    def _state_keys(self, group):
        return ("square_avg", "acc_delta"), ("step",)

    def _run(self, group, params, grads, square_avgs, acc_deltas, steps):
        ops._adadelta_step_(
            params,
            grads,
            square_avgs,
            acc_deltas,
            steps,
            to_scalar(group["lr"]),
            group["rho"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        lr, rho, eps = group["lr"], group["rho"], group["eps"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p, grad, square_avg, acc_delta = as_real(p, grad, state["square_avg"], state["acc_delta"])
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = acc_delta.add(eps).sqrt() / square_avg.add(eps).sqrt() * grad
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        if group["differentiable"] and isinstance(lr, Tensor):
            p.sub_(delta * lr)
        else:
            p.add_(delta, alpha=-to_scalar(lr))
