"""A module whose batches are split over devices."""

from __future__ import annotations

from typing import Any

from flambeau.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Splits batches over devices; where there is none but the CPU it runs the module.

    Args:
        module: found as the attribute ``module``, with names of states below ``module.``.
        device_ids, output_device: not used without devices.
        dim: the dimension of the batch.

    Example:
        >>> net = nn.DataParallel(nn.Linear(2, 1))
        >>> net(flambeau.ones(3, 2)).shape, list(net.state_dict())
        (torch.Size([3, 1]), ['module.weight', 'module.bias'])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None
) -> Any:
    """The module's result for inputs, as `DataParallel` computes it.

    >>> data_parallel(nn.ReLU(), flambeau.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
