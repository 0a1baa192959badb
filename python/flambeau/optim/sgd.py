"""Stochastic gradient descent with momentum: one C++ call per group, or tensor operators."""

from __future__ import annotations

from flambeau._C import Tensor, _optimizer_lists, ops

from ._common import (
    check_fused,
    check_lr,
    check_non_negative,
    setdefaults,
    to_scalar,
)
from ._dense import DenseOptimizer


class SGD(DenseOptimizer):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: learning rate, a number or a one-element tensor.
        momentum, dampening, nesterov: `buf = momentum * buf + (1 - dampening) * grad`.
        weight_decay: L2 penalty added to the gradient.
        maximize: ascend instead of descend.
        foreach, fused: accepted for programs that choose an implementation; same numbers.
        differentiable: record the step for autograd.

    >>> w = flambeau.tensor([1.0], requires_grad=True)
    >>> optimizer = flambeau.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.4600])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check_non_negative("momentum", momentum)
        check_non_negative("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        setdefaults(
            self,
            {
                "nesterov": False,
                "maximize": False,
                "foreach": None,
                "differentiable": False,
                "fused": False,
            },
        )

    _takes_sparse = True
    _foreach_differentiates = True
    _first_step_makes_state = True

    def _uses_operators(self, group):
        return isinstance(group["weight_decay"], Tensor) or super()._uses_operators(group)

    def _state_keys(self, group):
        return (("momentum_buffer",) if group["momentum"] != 0 else ()), ()

    def _run(self, group, params, grads, buffers=(), first_step=False):
        ops._sgd_step_(
            params,
            grads,
            buffers,
            to_scalar(group["lr"]),
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
            first_step,
            bool(group["fused"]),
        )

    def _first_step(self, params, group):
        """The step that sets the momentum buffers; returns what it leaves to the operators."""
        (params, grads), _, others = _optimizer_lists(params, self.state, (), ())
        buffers = [ops.empty_like(grad) for grad in grads]
        self._run(group, params, grads, buffers, first_step=True)
        for p, buffer in zip(params, buffers):
            self.state[p]["momentum_buffer"] = buffer
        return others

    def _update_one(self, p, group):
        grad = -p.grad if group["maximize"] else p.grad
        state = self.state[p] if group["momentum"] != 0 else {}
        buffer = _single_tensor_sgd(p, grad, state.get("momentum_buffer"), group)
        if buffer is not None:
            state["momentum_buffer"] = buffer


def _single_tensor_sgd(p, grad, buffer, group):
    """The same step with tensor operators; returns the momentum buffer."""
    lr, momentum = group["lr"], group["momentum"]
    if not group["differentiable"]:
        lr = to_scalar(lr)
    weight_decay = group["weight_decay"]
    if isinstance(weight_decay, Tensor):
        grad = grad + p.clone() * weight_decay
    elif weight_decay != 0:
        grad = grad.add(p, alpha=weight_decay)
    if momentum != 0:
        if buffer is None:
            buffer = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    if isinstance(lr, Tensor):
        p.addcmul_(grad, -lr)
    else:
        p.add_(grad, alpha=-lr)
    return buffer
