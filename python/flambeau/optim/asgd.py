"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from ._common import (
    as_real,
    check_lr,
    check_non_negative,
    new_step,
    scalar_dtype,
    setdefaults,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer


class ASGD(DenseOptimizer):
    """Stochastic gradient descent that also keeps an average of the parameters (`state["ax"]`).

    Args:
        params: tensors, named tensors or parameter groups.
        lr: learning rate.
        lambd: decay of the parameters.
        alpha: power of the decay of the learning rate.
        t0: the step at which averaging starts.
        weight_decay: L2 penalty added to the gradient.
        foreach, maximize, differentiable, capturable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_non_negative("weight_decay", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
        tensor_steps(self, ("step", "eta", "mu"))

    _capturable_names = "params, mus, etas, and state_steps"

    def _init_state(self, state, p, grad, group):
        lr = group["lr"]
        state["step"] = new_step()
        if isinstance(lr, Tensor):
            state["eta"] = lr.detach().to(scalar_dtype()).reshape(()).clone()
        else:
            state["eta"] = ops.full((), float(lr), dtype=scalar_dtype())
        state["mu"] = ops.ones((), dtype=scalar_dtype())
        state["ax"] = ops.zeros_like(p)

    def _state_keys(self, group):
        return ("ax",), ("step", "eta", "mu")

    def _run(self, group, params, grads, axs, steps, etas, mus):
        ops._asgd_step_(
            params,
            grads,
            axs,
            steps,
            etas,
            mus,
            to_scalar(group["lr"]),
            group["lambd"],
            group["alpha"],
            group["t0"],
            group["weight_decay"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        lambd = group["lambd"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p, grad, average = as_real(p, grad, state["ax"])
        state["step"] += 1
        step, eta, mu = state["step"].item(), state["eta"].item(), state["mu"].item()
        p.mul_(1 - lambd * eta)
        p.add_(grad, alpha=-eta)
        if mu == 1:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(mu))
        lr = to_scalar(group["lr"])
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
