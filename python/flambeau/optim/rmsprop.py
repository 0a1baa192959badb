"""RMSprop."""

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


class RMSprop(DenseOptimizer):
    """RMSprop: steps divided by a running root mean square of the gradient.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: learning rate.
        alpha: decay of the running mean.
        eps: added to the denominator.
        weight_decay: L2 penalty added to the gradient.
        momentum: momentum of the scaled steps.
        centered: subtract the square of the mean gradient (divide by the standard deviation).
        capturable, foreach, maximize, differentiable: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        _check_eps(eps)
        check_non_negative("momentum", momentum)
        check_non_negative("weight_decay", weight_decay)
        check_non_negative("alpha", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        defaults = {"maximize": False, "differentiable": False, "capturable": False}
        setdefaults(self, {"momentum": 0, "centered": False, "foreach": None, **defaults})
        tensor_steps(self)

    def _init_state(self, state, p, grad, group):
        state["step"] = new_step()
        state["square_avg"] = ops.zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = ops.zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = ops.zeros_like(p)

    def _state_keys(self, group):
        keys = ["square_avg"]
        if group["centered"]:
            keys.append("grad_avg")
        if group["momentum"] > 0:
            keys.append("momentum_buffer")
        return tuple(keys), ("step",)

    def _run(self, group, params, grads, square_avgs, *rest):
        *means, steps = rest
        ops._rmsprop_step_(
            params,
            grads,
            square_avgs,
            means[0] if group["centered"] else [],
            means[-1] if group["momentum"] > 0 else [],
            steps,
            to_scalar(group["lr"]),
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            group["momentum"],
            group["maximize"],
        )

    def _update(self, p, grad, state, group):
        lr, alpha = group["lr"], group["alpha"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        p, grad, square_avg, grad_avg, buffer = as_real(
            p, grad, state["square_avg"], state.get("grad_avg"), state.get("momentum_buffer")
        )
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            grad_avg.lerp_(grad, 1 - alpha)
            mean = grad_avg.clone() if group["differentiable"] else grad_avg
            avg = square_avg.addcmul(mean, mean, value=-1).sqrt()
        else:
            avg = square_avg.sqrt()
        avg = avg.add(group["eps"])
        keep_lr = group["differentiable"] and isinstance(lr, Tensor)
        if group["momentum"] > 0:
            buffer.mul_(group["momentum"]).addcdiv_(grad, avg)
            if keep_lr:
                p.sub_(buffer.clone() * lr)
            else:
                p.add_(buffer, alpha=-to_scalar(lr))
        elif keep_lr:
            p.sub_(grad / avg * lr)
        else:
            p.addcdiv_(grad, avg, value=-to_scalar(lr))
