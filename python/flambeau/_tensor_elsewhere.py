"""Methods of Tensor that concern other devices, removed functions, and old queries."""

from __future__ import annotations

from . import _C, _removed
from ._C import Tensor

_NO_MTIA = (
    "Torch not compiled with MTIA enabled. Ensure you have `import"
    " mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include"
    " `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"
)


def _method(function):
    setattr(Tensor, function.__name__, function)


@_method
def cuda(self, device=None, non_blocking=False, memory_format=None):
    """Raises: this build has no CUDA devices."""
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if device is not None and _C.device(device).type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    raise AssertionError("Torch not compiled with CUDA enabled")


@_method
def xpu(self, device=None, non_blocking=False, memory_format=None):
    """Raises: this build has no XPU devices."""
    raise AssertionError("Torch not compiled with XPU enabled")


@_method
def mtia(self, device=None, non_blocking=False, memory_format=None):
    """Raises: this build has no MTIA devices."""
    raise AssertionError(_NO_MTIA)


@_method
def ipu(self, device=None, non_blocking=False, memory_format=None):
    """Raises: this build has no IPU devices."""
    raise RuntimeError("PyTorch is not linked with support for ipu devices")


@_method
def record_stream(self, stream):
    """Raises: no tensor lies on a device with streams of its own."""
    raise RuntimeError("record_stream: tensors of the CPU belong to no stream")


@_method
def is_distributed(self):
    """Whether the tensor is of the old distributed kind: none is."""
    return False


@_method
def dequantize(self):
    """The tensor in float32: none holds quantized values."""
    return self.float() if self.is_floating_point() else _not_quantized(self, "dequantize")


def _not_quantized(self, name):
    raise NotImplementedError(f"{name}: expected a quantized tensor, got one of {self.dtype}")


def _needs_quantized(name):
    def method(self):
        return _not_quantized(self, name)

    method.__name__ = name
    method.__doc__ = "Raises: the tensor holds no quantized values."
    setattr(Tensor, name, method)


for _name in (
    "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_scale", "q_zero_point", "qscheme",
):  # fmt: skip
    _needs_quantized(_name)


@_method
def index(self, positions, dims=None, vals=None):
    """The functional dimensions of `functorch.dim`, which are not built."""
    raise NotImplementedError("Tensor.index is not built in flambeau: functorch.dim")


for _name in ("eig", "lstsq", "solve", "symeig"):
    setattr(Tensor, _name, getattr(_removed, _name))
for _name in ("is_ipu", "is_maia", "is_mtia", "is_vulkan", "is_hpu"):
    setattr(Tensor, _name, property(lambda self: False))
