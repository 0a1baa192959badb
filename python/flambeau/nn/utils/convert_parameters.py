"""All parameters as one vector, and back."""

from __future__ import annotations

from flambeau._C import Tensor, ops


def parameters_to_vector(parameters):
    """The elements of all parameters, one after the other.

    >>> nn.utils.parameters_to_vector([flambeau.ones(1, 2), flambeau.zeros(1)])
    tensor([1., 1., 0.])
    """
    device = None
    pieces = []
    for param in parameters:
        device = _same_device(param, device)
        pieces.append(param.reshape(-1))
    return ops.cat(pieces)


def vector_to_parameters(vec, parameters):
    """Takes the values of parameters out of one vector, in order; they share its memory."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    device = None
    start = 0
    for param in parameters:
        device = _same_device(param, device)
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count


def _same_device(param, device):
    if device is not None and param.device != device:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
    return param.device
