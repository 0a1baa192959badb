"""Adafactor: second moments of matrices kept as a row and a column."""

from __future__ import annotations

from flambeau._C import Tensor, ops
from flambeau.autograd import enable_grad, no_grad

from ._common import check_dense, new_step, run_closure, setdefaults, to_scalar
from .optimizer import Optimizer

# Smallest x with 1 + x != 1, the default of the first epsilon.
_EPSILON = {8: 2.0**-52, 4: 2.0**-23}
_HALF_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


class Adafactor(Optimizer):
    """Adafactor: Adam-like steps whose memory grows with rows plus columns of a matrix.

    Args:
        params: tensors, named tensors or parameter groups, not complex.
        lr: largest relative step.
        beta2_decay: the decay of the second moment is `1 - step ** beta2_decay`.
        eps: smallest second moment (None: the dtype's epsilon) and smallest parameter scale.
        d: largest root mean square of an update.
        weight_decay: decoupled weight decay.
        foreach, maximize: as in `Adam`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        _check_options(lr, beta2_decay, eps, d, weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        setdefaults(self, {"foreach": None, "maximize": False})

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
                check_dense("Adafactor", p.grad)
                state = self.state[p]
                if len(state) == 0:
                    self._init_state(state, p, p.grad, group)
                self._update(p, -p.grad if group["maximize"] else p.grad, state, group)
        return loss

    def _init_state(self, state, p, grad, group):
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = new_step()
        if grad.dim() > 1:
            rows, columns = list(grad.shape), list(grad.shape)
            rows[-1], columns[-2] = 1, 1
            state["row_var"] = ops.zeros(rows, dtype=grad.dtype, device=grad.device)
            state["col_var"] = ops.zeros(columns, dtype=grad.dtype, device=grad.device)
        else:
            state["variance"] = ops.zeros_like(grad)

    def _update(self, p, grad, state, group):
        lr, (eps1, eps2) = to_scalar(group["lr"]), group["eps"]
        if eps1 is None:
            eps1 = _epsilon(p.dtype, p.element_size())
        state["step"] += 1
        step = state["step"].item()
        weight = step ** group["beta2_decay"]
        scale = max(eps2, p.norm(2).item() / p.numel() ** 0.5)
        alpha = scale * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        variance = _variance(grad, state, weight, eps1)
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        denom = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        p.add_(update, alpha=-alpha / denom)


def _variance(grad, state, weight, eps1):
    """The second moment; that of a matrix is the product of its row and column means."""
    if grad.dim() <= 1:
        state["variance"].lerp_(grad.square(), weight)
        return state["variance"].clone()
    rows, columns = state["row_var"], state["col_var"]
    for var, dim in ((rows, -1), (columns, -2)):
        mean = grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim))
        var.lerp_(mean, weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))


def _epsilon(dtype, size):
    if size == 2:
        return _HALF_EPSILON[str(dtype).rpartition(".")[2]]
    return _EPSILON[size]


def _check_options(lr, beta2_decay, eps, d, weight_decay):
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
    if not beta2_decay <= 0.0:
        raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
    if eps[0] is not None and not eps[0] >= 0.0:
        raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
    if not eps[1] >= 0.0:
        raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
    if not d >= 1.0:
        raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
    if not weight_decay >= 0.0:
        raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
