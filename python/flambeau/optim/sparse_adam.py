"""SparseAdam: Adam that touches only the entries a sparse gradient has."""

from __future__ import annotations

from flambeau._C import Tensor, ops, strided
from flambeau.autograd import enable_grad, no_grad

from ._common import check_betas, run_closure, to_scalar
from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients: moments and parameters change only where the gradient is.

    Args:
        params: dense tensors with sparse gradients, or parameter groups of them.
        lr, betas, eps, maximize: as in `Adam`.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}, expected lr > 0")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}, expected eps > 0")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.layout is not strided
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
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
                if p.grad is None:
                    continue
                if p.grad.layout is strided:
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
                self._update(p, p.grad, group)
        return loss

    def _update(self, p, grad, group):
        state = self.state[p]
        if len(state) == 0:
            state["step"] = 0
            state["exp_avg"] = ops.zeros_like(p)
            state["exp_avg_sq"] = ops.zeros_like(p)
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        if grad._nnz() == 0:
            return
        (beta1, beta2), step, lr = group["betas"], state["step"], to_scalar(group["lr"])
        values = grad._values()
        mean = _advance(state["exp_avg"], grad, values, beta1)
        square = _advance(state["exp_avg_sq"], grad, values.pow(2), beta2)
        step_size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        change = mean.div_(square.sqrt_().add_(group["eps"]))
        p.add_(_like(grad, -step_size * change))


def _advance(average, grad, values, beta):
    """Moves a running mean towards `values` where `grad` has entries; returns its new entries."""
    old = average.sparse_mask(grad)._values()
    update = values.sub(old).mul_(1 - beta)
    average.add_(_like(grad, update))
    return update + old


def _like(grad, values):
    return ops._sparse_like(grad, values)
