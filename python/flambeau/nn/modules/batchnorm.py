"""Batch normalisation."""

from __future__ import annotations

import sys

from flambeau._C import Tensor, int64, ops
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module, plain_getattr

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Scale, shift and running statistics of batch and instance normalisation."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        scale = Parameter(ops.empty(num_features, **options)) if affine else None
        shift = Parameter(ops.empty(num_features, **options)) if affine and bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)
        if track_running_stats:
            self.register_buffer("running_mean", ops.zeros(num_features, **options))
            self.register_buffer("running_var", ops.ones(num_features, **options))
            count = ops.full((), 0, dtype=int64, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Running mean 0, running variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError(f"{type(self).__name__} does not check its input")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    # The number of dimensions of a batch, where there is one.
    _batch_dims: tuple[int, ...] = ()

    def _call_hint(self, input):
        if not isinstance(input, Tensor) or not self._batch_dims:
            return None
        n = input.dim()
        if n in self._batch_dims:
            found = input.shape[1]
            if found != self.num_features:
                last = input.shape[-1] == self.num_features
                more = " The channels seem to come last; they belong at dimension 1."
                return (
                    f"The input has {found} channels, at dimension 1, and num_features is "
                    f"{self.num_features}.{more if last else ''}"
                )
            return None
        other = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}.get(n)
        advice: list[str] = []
        if n + 1 in self._batch_dims and input.shape[:1] == (self.num_features,):
            advice.append("for one sample without batch: x.unsqueeze(0)")
        if other:
            kind = type(self).__name__.rstrip("d").rstrip("123")
            advice.append(f"for a batch of {n} dimensions: {kind}{other}")
        text = "; or ".join(advice)
        return text[:1].upper() + text[1:] + "." if text else None

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # Format 1 had no count of batches.
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            known = count is not None and not count.is_meta
            state_dict[key] = count if known else ops.full((), 0, dtype=int64)
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        members: dict = self._buffers
        plain = type(self).__getattr__ is plain_getattr
        if plain and "running_mean" in members and "running_var" in members:
            mean, var = members["running_mean"], members["running_var"]
        else:
            mean, var = self.running_mean, self.running_var
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
                if self.momentum is None:  # the plain mean of all batches
                    factor = 1.0 / float(count)
        training = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        members = self._parameters
        if plain and "weight" in members and "bias" in members:
            weight, bias = members["weight"], members["bias"]
        else:
            weight, bias = self.weight, self.bias
        return F.batch_norm(input, mean, var, weight, bias, training, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L).

    Args:
        num_features: channels C.
        eps: added to the variance.
        momentum: weight of the new batch in the running statistics; None takes plain means.
        affine: whether there are a learned scale and shift.
        track_running_stats: whether evaluation uses statistics gathered in training.
        bias: whether there is a shift.

    Raises:
        ValueError: the input has another number of dimensions, or one value a channel in training.
    """

    _batch_dims = (2, 3)

    def _check_input_dim(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); arguments as `BatchNorm1d`."""

    _batch_dims = (4,)

    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); arguments as `BatchNorm1d`."""

    _batch_dims = (5,)

    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """Takes the number of channels from dimension 1 of the first input."""

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ) -> None:
        # The base is made without tensors, whose shapes are not known.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        options = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = ops.full((), 0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        if self.num_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for name in ("weight", "bias", "running_mean", "running_var"):
            tensor = getattr(self, name)
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes num_features from its first input.

    Example:
        >>> layer = nn.LazyBatchNorm1d()
        >>> layer(flambeau.ones(4, 3)).shape, layer.num_features
        (torch.Size([4, 3]), 3)
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes num_features from its first input."""

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes num_features from its first input."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics are of the batches of all processes of a group.

    In a single process it is a `BatchNorm1d` for inputs of two or more dimensions.

    Args:
        num_features, eps, momentum, affine, track_running_stats, bias: as of `BatchNorm1d`.
        process_group: the processes; all if left out.

    Raises:
        ValueError: the input has no channels, or is to be trained on in several processes: they
            can be synchronised on other devices only.
    """

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input):
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input):
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        # Not imported: without it there is no other process.
        distributed = sys.modules.get("flambeau.distributed")
        uses_batch = self.training or self.running_mean is None
        if uses_batch and distributed is not None and distributed.is_initialized():
            if distributed.get_world_size(self.process_group) > 1:
                raise ValueError(
                    "SyncBatchNorm expected input tensor to be on GPU or another accelerator, got "
                    f"{input.device}"
                )
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a `SyncBatchNorm` in the place of each batch normalisation.

        Parameters and buffers are those that there were; module itself is returned unless it is
        a batch normalisation.

        Example:
            >>> net = nn.Sequential(nn.BatchNorm2d(3))
            >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
            'SyncBatchNorm'
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                result.weight, result.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
