"""Stochastic gradient descent with momentum: one C++ call per group, or tensor operators."""

from __future__ import annotations

from flambeau._C import Tensor, ops
from flambeau.autograd import enable_grad

from ._common import (
    check_fused,
    check_lr,
    check_non_negative,
    kernel_takes,
    run_closure,
    setdefaults,
    to_scalar,
)
from .optimizer import Optimizer, _use_grad_for_differentiable


class SGD(Optimizer):
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

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates every parameter that has a gradient.

        Args:
            closure: re-evaluates the model and returns the loss; its value is returned.
        """
        loss = run_closure(closure, enable_grad)
        for group in self.param_groups:
            if not group["differentiable"] and isinstance(group["lr"], Tensor):
                group = {**group, "lr": to_scalar(group["lr"])}
            self._step_group(group)
        return loss

    def _step_group(self, group):
        use_kernel = not group["differentiable"] and not isinstance(group["weight_decay"], Tensor)
        momentum = group["momentum"]
        params, grads, buffers = [], [], []
        new_params, new_grads = [], []
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if not (use_kernel and kernel_takes(p, grad)):
                self._update(p, grad, group)
                continue
            if momentum != 0:
                buffer = self.state[p].get("momentum_buffer")
                if buffer is None:
                    new_params.append(p)
                    new_grads.append(grad)
                    continue
                buffers.append(buffer)
            params.append(p)
            grads.append(grad)
        if params:
            _run_kernel(params, grads, buffers, group, first_step=False)
        if new_params:
            buffers = [ops.empty_like(grad) for grad in new_grads]
            _run_kernel(new_params, new_grads, buffers, group, first_step=True)
            for p, buffer in zip(new_params, buffers):
                self.state[p]["momentum_buffer"] = buffer

    def _update(self, p, grad, group):
        momentum = group["momentum"]
        state = self.state[p] if momentum != 0 else {}
        buffer = _single_tensor_sgd(p, grad, state.get("momentum_buffer"), group)
        if buffer is not None:
            state["momentum_buffer"] = buffer


def _run_kernel(params, grads, buffers, group, first_step):
    ops._sgd_step_(
        params,
        grads,
        buffers,
        group["lr"],
        group["momentum"],
        group["dampening"],
        group["weight_decay"],
        group["nesterov"],
        group["maximize"],
        first_step,
    )


def _single_tensor_sgd(p, grad, buffer, group):
    """The same step with tensor operators; returns the momentum buffer."""
    lr, momentum = group["lr"], group["momentum"]
    weight_decay = group["weight_decay"]
    if group["maximize"]:
        grad = -grad
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
