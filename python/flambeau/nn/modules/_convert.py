"""Parameters moved to another dtype or device, and the arguments of `Module.to`."""

from __future__ import annotations

from flambeau._C import Tensor
from flambeau._C import device as Device
from flambeau._C import dtype as DType
from flambeau.autograd import no_grad
from flambeau.nn.parameter import Parameter


def converted(param, fn):
    """`fn` of a parameter: the same object with other values where the device allows it."""
    with no_grad():
        value = fn(param)
    grad = param.grad
    result = param
    if value.device.type == param.device.type:
        param.data = value
    else:
        result = Parameter(value, param.requires_grad)
    if grad is None:
        return result
    with no_grad():
        new_grad = fn(grad)
    if result is param and new_grad.device.type == grad.device.type:
        grad.data = new_grad
        # The gradient follows its parameter's dtype, whatever the accessor checks.
        param.grad = grad
    else:
        result.grad = new_grad.requires_grad_(grad.requires_grad)
    return result


def _names_device(value):
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, (str, int, Device))


def parse_to(
    *args,
    device=None,
    dtype=None,
    non_blocking=False,
    copy=False,
    memory_format=None,
    tensor=None,
):
    """(device, dtype, non_blocking, memory_format) of the arguments of `Module.to`."""
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    else:
        if rest and _names_device(rest[0]):
            device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], DType)):
            dtype = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        non_blocking = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        rest.pop(0)  # copy: says nothing about a module
    if rest or not (dtype is None or isinstance(dtype, DType)):
        got = ", ".join(type(a).__name__ for a in rest) or type(dtype).__name__
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({got}), but expected "
            "device and dtype, a dtype, or a tensor"
        )
    if device is not None and not isinstance(device, Device):
        device = Device(device)
    return device, dtype, non_blocking, memory_format
