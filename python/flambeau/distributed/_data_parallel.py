"""Training where each process has the model and a part of the data: here one process has all."""

from __future__ import annotations

import contextlib

from flambeau import _C
from flambeau._absent import missing
from flambeau.nn import Module

from ._group import resolve
from .algorithms.join import Join, Joinable


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over the processes of a group.

    A group has one process so far, whose gradients are the average. Parameters keep their names
    under ``module.``, as with several processes.

    Example:
        >>> import flambeau, flambeau.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = DistributedDataParallel(flambeau.nn.Linear(2, 1))
        >>> model(flambeau.ones(3, 2)).sum().backward()
        >>> model.module.bias.grad, list(model.state_dict())
        (tensor([3.]), ['module.weight', 'module.bias'])
        >>> dist.destroy_process_group()
    """

    def __init__(
        self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None,
        init_sync=True, process_group=None, bucket_cap_mb=None, find_unused_parameters=False,
        check_reduction=False, gradient_as_bucket_view=False, static_graph=False,
        delay_all_reduce_named_params=None, param_to_hook_all_reduce=None, mixed_precision=None,
        device_mesh=None, skip_all_reduce_unused_params=False,
    ):  # fmt: skip
        super().__init__()
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        group = resolve(device_mesh.get_group(0) if device_mesh is not None else process_group)
        parameters = list(module.parameters())
        if not any(p.requires_grad for p in parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter"
                " that requires a gradient."
            )
        if device_ids:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with"
                f" GPU modules, but got device_ids {device_ids} for parameters on"
                f" { {p.device.type for p in parameters} }."
            )
        if mixed_precision is not None:
            raise missing("DistributedDataParallel(mixed_precision=…)", "sharded training")
        self.module = module
        self.process_group = group
        self.device_ids, self.output_device = None, None
        self.device = next((p.device for p in parameters), _C.device("cpu"))
        self.device_type = self.device.type
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers in (None, True)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))

    def forward(self, *inputs, **kwargs):
        """The module's result."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Context in which gradients of several processes are not averaged."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def train(self, mode=True):
        """Sets the mode of the module."""
        super().train(mode)
        return self

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments: there is one device."""
        return [inputs], [kwargs]

    def gather(self, outputs, output_device):
        """The result: there is one device."""
        return outputs

    def join(self, divide_by_initial_world_size=True, enable=True, **kwargs):
        """Context for unequal numbers of batches."""
        return Join([self], enable)

    @property
    def join_device(self):
        """The device of the module."""
        return self.device

    @property
    def join_process_group(self):
        """The group."""
        return self.process_group

    def register_comm_hook(self, state, hook):
        """Not built yet: with one process there is no communication to change."""
        raise missing("DistributedDataParallel.register_comm_hook", "groups of several processes")

    def will_sync_module_buffers(self):
        """Whether buffers of several processes would be made equal before a forward pass."""
        return self.require_forward_param_sync and self.broadcast_buffers

    def _set_static_graph(self):
        self.static_graph = True

    def _get_ddp_logging_data(self):
        return {"world_size": 1, "rank": 0, "backend_name": str(self.process_group.name())}


__all__ = ["DistributedDataParallel"]
