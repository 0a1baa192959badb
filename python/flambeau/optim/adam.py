"""Adam and its AMSGrad and decoupled-weight-decay forms.

`_single_tensor_adam` is the step with operators, whose order the kernel keeps.
"""

from __future__ import annotations

from flambeau._C import Tensor, ops

from ._common import (
    as_real,
    check_betas,
    check_fused,
    check_lr,
    check_non_negative,
    new_step,
    setdefaults,
    sqrt,
    tensor_steps,
    to_scalar,
)
from ._dense import DenseOptimizer

_KEYS = ("exp_avg", "exp_avg_sq"), ("step",)
_KEYS_AMSGRAD = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), ("step",)


class Adam(DenseOptimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    Args:
        params: tensors, named tensors or parameter groups.
        lr: learning rate, a number or a one-element tensor.
        betas: decay of the two running means.
        eps: added to the denominator.
        weight_decay: L2 penalty; added to the gradient, or applied to the parameter itself when
            `decoupled_weight_decay` (which is AdamW).
        amsgrad: use the largest second moment seen so far.
        maximize: ascend instead of descend.
        foreach, fused, capturable: choose an implementation elsewhere; same numbers here.
            `capturable=True` needs a device with graph capture.
        differentiable: record the step for autograd.

    >>> w = flambeau.tensor([1.0], requires_grad=True)
    >>> optimizer = flambeau.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        check_lr(lr)
        _check_eps(eps)
        check_betas(betas)
        check_non_negative("weight_decay", weight_decay)
        _check_tensor_options(lr, betas, foreach, capturable)
        check_fused(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        setdefaults(
            self,
            {
                "amsgrad": False,
                "maximize": False,
                "foreach": None,
                "capturable": False,
                "differentiable": False,
                "decoupled_weight_decay": False,
                "fused": None,
            },
        )
        tensor_steps(self)

    _sparse_hint = ", please consider SparseAdam instead"

    def _check_group(self, group):
        super()._check_group(group)
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )

    def _uses_operators(self, group):
        return (
            isinstance(group["betas"][0], Tensor)
            or isinstance(group["weight_decay"], Tensor)
            or super()._uses_operators(group)
        )

    def _state_keys(self, group):
        return _KEYS_AMSGRAD if group["amsgrad"] else _KEYS

    def _init_state(self, state, p, grad, group):
        state["step"] = new_step()
        state["exp_avg"] = ops.zeros_like(p)
        state["exp_avg_sq"] = ops.zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = ops.zeros_like(p)

    def _run(self, group, params, grads, exp_avgs, exp_avg_sqs, *rest):
        *max_exp_avg_sqs, steps = rest
        beta1, beta2 = group["betas"]
        ops._adam_step_(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            max_exp_avg_sqs[0] if max_exp_avg_sqs else [],
            steps,
            to_scalar(group["lr"]),
            beta1,
            beta2,
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
            bool(group["fused"]),
        )

    def _update(self, p, grad, state, group):
        _single_tensor_adam(p, grad, state, group)


class AdamW(Adam):
    """Adam with weight decay applied to the parameters, not to the gradients.

    Takes the arguments of `Adam`; `weight_decay` is 0.01 if not given.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _check_eps(eps):
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}, expected eps >= 0")


def _check_tensor_options(lr, betas, foreach, capturable):
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    options = (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1]))
    for name, value in options:
        if not isinstance(value, Tensor):
            continue
        if foreach and not capturable:
            raise ValueError(
                f"{name} as a Tensor is not supported for capturable=False and foreach=True"
            )
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def _single_tensor_adam(p, grad, state, group):
    """The Adam step with tensor operators."""
    lr, (beta1, beta2) = group["lr"], group["betas"]
    weight_decay, differentiable = group["weight_decay"], group["differentiable"]
    if not differentiable:
        lr = to_scalar(lr)
    step_t = state["step"]
    step_t += 1
    if isinstance(weight_decay, Tensor) or weight_decay != 0:
        if group["decoupled_weight_decay"]:
            p.mul_(1 - lr * weight_decay)
        elif isinstance(weight_decay, Tensor):
            grad = grad + p.clone() * weight_decay
        else:
            grad = grad.add(p, alpha=weight_decay)
    max_sq = state["max_exp_avg_sq"] if group["amsgrad"] else None
    p, grad, exp_avg, exp_avg_sq, max_sq = as_real(
        p, grad, state["exp_avg"], state["exp_avg_sq"], max_sq
    )
    exp_avg.lerp_(grad, 1 - beta1)
    if differentiable and isinstance(beta2, Tensor):
        exp_avg_sq.lerp_(grad.square(), 1 - beta2)
    else:
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=to_scalar(1 - beta2))
    if differentiable:
        _apply_differentiable(p, exp_avg, exp_avg_sq, max_sq, step_t, group)
        return
    step = step_t.item()
    step_size = lr / (1 - beta1**step)
    correction = sqrt(1 - beta2**step)
    if max_sq is not None:
        ops.maximum(max_sq, exp_avg_sq, out=max_sq)
        exp_avg_sq = max_sq
    denom = (exp_avg_sq.sqrt() / correction).add_(group["eps"])
    p.addcdiv_(exp_avg, denom, value=-to_scalar(step_size))


def _apply_differentiable(p, exp_avg, exp_avg_sq, max_sq, step_t, group):
    """The last part of the step with the step count, lr and betas kept as tensors."""
    (beta1, beta2), step = group["betas"], step_t.clone()
    minus_step_size = -(group["lr"] / (1 - beta1**step))
    correction = sqrt(1 - beta2**step)
    if max_sq is not None:
        # The clones keep the saved values of maximum apart from what changes in place.
        max_sq.copy_(ops.maximum(max_sq.clone(), exp_avg_sq.clone()))
        exp_avg_sq = max_sq
    denom = exp_avg_sq.sqrt() / (correction * minus_step_size) + group["eps"] / minus_step_size
    p.addcdiv_(exp_avg.clone(), denom)
