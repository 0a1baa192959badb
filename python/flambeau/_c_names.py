"""Names of PyTorch's extension module `torch._C` that packages touch, beside those of ours."""

from __future__ import annotations

import importlib
import sys

from . import _C

_FOLDERS = ("_distributed_c10d", "_distributed_rpc", "_functions", "_functorch", "_jit_tree_views",
            "_nn", "_onnx", "_profiler", "_VariableFunctions", "_lazy", "_autograd")  # fmt: skip


def _log_api_usage_once(event):
    """Accepted: nothing is reported anywhere."""


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """Runs an operator without asking subclasses."""
    before = _C._set_torch_function_enabled(False)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _C._set_torch_function_enabled(before)


def _get_privateuse1_backend_name():
    return "privateuseone"


def _get_accelerator(check=False):
    return _C.device("cpu")


def _get_default_device():
    from ._functional import get_default_device

    return str(get_default_device())


def _are_functorch_transforms_active():
    """Whether code runs within vmap, grad and the like."""
    from ._transforms import interpreter

    return bool(interpreter.active())


def _set_math_sdp_allow_fp16_bf16_reduction(allowed):
    """Accepted: attention computes in float32."""


def _is_torch_function_enabled():
    before = _C._set_torch_function_enabled(True)
    _C._set_torch_function_enabled(before)
    return before


def _cuda_getDeviceCount():
    return 0


def _len_torch_dispatch_stack():
    return 0


def _len_torch_function_stack():
    return 0


def _jit_set_profiling_executor(value):
    """Accepted: there is no such compiler. Returns the setting before."""
    return True


def _jit_set_profiling_mode(value):
    """Accepted: there is no such compiler. Returns the setting before."""
    return True


def _has_cuda():
    return False


def _get_mkldnn_enabled():
    return True


_VALUES = {
    "has_cuda": False, "has_cudnn": False, "has_mkl": False, "has_mkldnn": True, "has_lapack": True,
    "has_openmp": True, "has_mps": False, "has_xpu": False, "has_spectral": True, "_has_mps": False,
    "_has_cuda": False, "_has_cudnn": False, "_has_mkldnn": True, "_has_distributed": True,
    "_GLIBCXX_USE_CXX11_ABI": True,
}  # fmt: skip
_FROM_ROOT = {
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Size", "FloatTensor", "ScriptModule",
    "ScriptFunction", "Future", "Stream", "Event", "Tag", "SymInt", "SymFloat", "SymBool", "finfo",
    "iinfo", "CompilationUnit", "PyTorchFileReader",
}  # fmt: skip


def lookup(name):
    """`_C.__getattr__`."""
    if name in ("_TensorBase", "TensorBase"):
        return _C.Tensor
    if name == "_TensorMeta":
        return type(_C.Tensor)
    if name in _VALUES:
        return _VALUES[name]
    if name in _FOLDERS:
        return importlib.import_module(f"flambeau._C.{name}")
    if name in _FROM_ROOT:
        return getattr(sys.modules["flambeau"], name)
    value = globals().get(name)
    if callable(value) and getattr(value, "__module__", None) == __name__ and name != "lookup":
        return value
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
