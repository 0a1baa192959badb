"""Adagrad, for dense and sparse gradients."""

from __future__ import annotations

from flambeau._C import Tensor, ops, strided

from ._common import (
    as_real,
    check_fused,
    check_lr,
    check_non_negative,
    new_step,
    setdefaults,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer
from .adam import _check_eps


class Adagrad(DenseOptimizer):
    """Adagrad: steps divided by the root of the sum of all squared gradients.

    Args:
        params: tensors, named tensors or parameter groups; gradients may be sparse.
        lr: learning rate.
        lr_decay: the rate is `lr / (1 + (step - 1) * lr_decay)`.
        weight_decay: L2 penalty added to the gradient (dense gradients only).
        initial_accumulator_value: start of the sum.
        eps: added to the denominator.
        foreach, maximize, differentiable, fused: as in `Adam`.
    """

    _takes_sparse = True

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check_non_negative("lr_decay", lr_decay)
        check_non_negative("weight_decay", weight_decay)
        check_non_negative("initial_accumulator_value", initial_accumulator_value)
        _check_eps(eps)
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(self.state[p], p, None, group)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "differentiable": False, "fused": None}
        setdefaults(self, {"foreach": None, **defaults})
        tensor_steps(self)

    def share_memory(self):
        """Moves the sums to shared memory, for training in several processes."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _init_state(self, state, p, grad, group):
        start = group["initial_accumulator_value"]
        state["step"] = new_step()
        state["sum"] = ops.full_like(p, complex(start, start) if p.is_complex() else start)
        if p.requires_grad:
            state["sum"] = state["sum"].detach()

    def _state_keys(self, group):
        return ("sum",), ("step",)

    def _run(self, group, params, grads, sums, steps):
        ops._adagrad_step_(
            params,
            grads,
            sums,
            steps,
            to_scalar(group["lr"]),
            group["lr_decay"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
            bool(group["fused"]),
        )

    def _update(self, p, grad, state, group):
        lr = group["lr"]
        state["step"] += 1
        if not group["differentiable"]:
            lr = to_scalar(lr)
        if group["weight_decay"] != 0:
            if grad.layout is not strided:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.add(p, alpha=group["weight_decay"])
        step = state["step"].item()
        step_size = lr / (1 + (step - 1) * group["lr_decay"])
        if grad.layout is not strided:
            _update_sparse(p, grad, state["sum"], step_size, group["eps"])
            return
        p, grad, total = as_real(p, grad, state["sum"])
        total.addcmul_(grad, grad, value=1)
        std = total.sqrt().add(group["eps"])
        if isinstance(step_size, Tensor):
            p.sub_(grad / std * step_size)
        else:
            p.addcdiv_(grad, std, value=-step_size)


def _update_sparse(p, grad, total, step_size, eps):
    # The square root is not linear, so the entries have to be unique first.
    grad = grad.coalesce()
    values = grad._values()
    if values.numel() == 0:
        return
    total.add_(ops._sparse_like(grad, values.pow(2)))
    std = total.sparse_mask(grad)._values().sqrt_().add_(eps)
    p.add_(ops._sparse_like(grad, values / std), alpha=-to_scalar(step_size))
