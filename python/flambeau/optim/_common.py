"""What the optimizers share: checks of their options, scalar state, and the per-parameter step."""

from __future__ import annotations

from flambeau._C import Tensor, float32, float64, get_default_dtype, ops, strided

_CAPTURABLE_DEVICES = ("cuda", "xpu", "hpu", "privateuseone", "xla")
_FUSED_DEVICES = ("mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone")


def check_lr(lr):
    """Raises `ValueError` unless lr is a number >= 0 or a tensor with one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, but got shape {tuple(lr.shape)}")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}, expected lr >= 0")


def check_non_negative(what, value):
    if not value >= 0.0:
        raise ValueError(f"Invalid {what} value: {value}, expected {what} >= 0")


def check_betas(betas):
    for i in range(2):
        beta = betas[i]
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}, expected 0 <= beta < 1")


def check_fused(fused, foreach, differentiable):
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_capturable(group, names):
    """Refuses `capturable` for parameters on devices that have no graph capture."""
    for p in group["params"]:
        if p.grad is not None and p.device.type not in _CAPTURABLE_DEVICES:
            raise AssertionError(
                f"If capturable=True, {names} must be on supported devices: "
                f"{list(_CAPTURABLE_DEVICES)}, but got a parameter on {p.device}; "
                "use capturable=False"
            )


def check_fused_param(param):
    if not (param.is_floating_point() and param.device.type in _FUSED_DEVICES):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {list(_FUSED_DEVICES)} but {param.dtype} and {param.device.type}"
        )


def divide_by_scale(grads, scale):
    """Takes a gradient scaler's factor out of the gradients, in place."""
    for grad in grads:
        grad.div_(scale.to(grad.device))


def is_tensor_option(group, names):
    """Whether one of these options is given as a tensor."""
    return any(isinstance(group[name], Tensor) for name in names)


def check_dense(optimizer, grad, hint=""):
    if grad.layout is not strided:
        raise RuntimeError(f"{optimizer} does not support sparse gradients{hint}")


def scalar_dtype():
    """The dtype of step counters and other scalar state."""
    return float64 if get_default_dtype() is float64 else float32


def new_step():
    return ops.zeros((), dtype=scalar_dtype())


def to_scalar(value):
    """A Python number from a number or a one-element tensor."""
    return value.item() if isinstance(value, Tensor) else value


def sqrt(value):
    """Square root of a number or a tensor."""
    return value.sqrt() if isinstance(value, Tensor) else value**0.5


def as_real(*tensors):
    """Complex tensors seen as real ones with a last axis of length 2; others as they are."""
    return tuple(ops.view_as_real(t) if t is not None and t.is_complex() else t for t in tensors)


def run_closure(closure, enable_grad):
    """Evaluates the loss of `step(closure)` with gradients on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def process_state_value(param, value, param_id, param_groups, key):
    """A loaded state tensor, cast as its parameter asks; step counters stay where they were."""
    if key != "step":
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    for group in param_groups:
        if param_id in group["params"]:
            if group.get("fused") or group.get("capturable"):
                return value.to(dtype=float32, device=param.device)
            break
    return value


def setdefaults(optimizer, values):
    """Fills options that a file written by an older version does not have."""
    for group in optimizer.param_groups:
        for key, value in values.items():
            group.setdefault(key, value)


def tensor_steps(optimizer, names=("step",)):
    """Turns number-valued counters of older files into tensors."""
    for state in optimizer.state.values():
        for name in names:
            if name in state and not isinstance(state[name], Tensor):
                state[name] = ops.full((), float(state[name]), dtype=scalar_dtype())
