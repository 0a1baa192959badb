"""Muon: momentum steps of matrices, orthogonalized by a Newton-Schulz iteration."""

from __future__ import annotations

from flambeau._C import Tensor, bfloat16, ops
from flambeau.autograd import enable_grad, no_grad

from ._common import run_closure
from .optimizer import Optimizer


class Muon(Optimizer):
    """Muon, for the matrices of hidden layers; use AdamW for all other parameters.

    Args:
        params: matrices, named matrices or parameter groups of them.
        lr: learning rate, a number.
        weight_decay: decoupled weight decay.
        momentum, nesterov: the running mean of the gradient.
        ns_coefficients, ns_steps, eps: of the Newton-Schulz iteration.
        adjust_lr_fn: "original" (default) scales by sqrt(max(1, rows / columns)),
            "match_rms_adamw" by 0.2 * sqrt(max(rows, columns)).
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (
            ("Learning rate", lr),
            ("momentum", momentum),
            ("weight decay", weight_decay),
        ):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= 100:
            raise ValueError(f"Number of steps must be less than 100, but got {ns_steps}")
        if len(ns_coefficients) != 3:
            raise ValueError(f"Coefficients must be 3 values, but got {len(ns_coefficients)}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {p.size()}"
                    )

    @no_grad()
    def step(self, closure=None):
        """Updates every parameter that has a gradient.

        Args:
            closure: re-evaluates the model and returns the loss; its value is returned.
        """
        loss = run_closure(closure, enable_grad)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad, group)
        return loss

    def _update(self, p, grad, group):
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        state, lr, momentum = self.state[p], group["lr"], group["momentum"]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ops.zeros_like(grad)
        buffer = state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonalize(update, group)
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * _lr_ratio(p.shape, group["adjust_lr_fn"]))


def _orthogonalize(update, group):
    """Pushes all singular values of a matrix towards one, in bfloat16 as it needs no more."""
    a, b, c = group["ns_coefficients"]
    x = update.to(bfloat16)
    transposed = update.size(0) > update.size(1)
    if transposed:
        x = x.t()
    x = x.div(x.norm().clamp(min=group["eps"]))
    for _ in range(group["ns_steps"]):
        gram = x @ x.t()
        gram_update = ops.addmm(gram, gram, gram, beta=b, alpha=c)
        x = ops.addmm(x, gram_update, x, beta=a)
    return x.t() if transposed else x


def _lr_ratio(shape, adjust_lr_fn):
    rows, columns = shape[:2]
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * max(rows, columns) ** 0.5
    return max(1, rows / columns) ** 0.5
