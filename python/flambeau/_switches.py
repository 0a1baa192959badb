"""Global switches under their PyTorch names; those that choose among libraries only remember."""

from __future__ import annotations

from _thread import _local as _thread_local
from typing import Any

from . import _C

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_anomaly_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_warn_always",
]

_state: dict[str, Any] = {
    "autocast_cache": True,
    "autocast_nesting": 0,
    "anomaly": False,
    "anomaly_nan": True,
    "deterministic": 0,
    "interop_threads": None,
    "matmul_precision": "highest",
    "warn_always": False,
}
_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")


# ---- autocast

_DEVICE_TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan,"
    " mps, meta, hpu, mtia, privateuseone"
)
# The dtype that autocast starts with on devices that have it; only the cpu has operators here.
_AUTOCAST_DTYPES = dict.fromkeys(("cuda", "ipu", "xpu", "mps", "mtia", "privateuseone"), _C.float16)
_AUTOCAST_DTYPES |= dict.fromkeys(("xla", "hpu", "maia"), _C.bfloat16)
_elsewhere = _thread_local()  # device type -> (enabled, dtype), of this thread


def _device_name(device_type, function):
    """The device type without an index; raises where it is none or has no autocast."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"{function}(): argument 'device_type' (position 1) must be str, not"
            f" {type(device_type).__name__}"
        )
    name = device_type.partition(":")[0]
    if name not in _DEVICE_TYPES.split(", "):
        raise RuntimeError(
            f"Expected one of {_DEVICE_TYPES} device type at start of device string: {device_type}"
        )
    if name != "cpu" and name not in _AUTOCAST_DTYPES:
        raise RuntimeError(f"{function}: unknown device type for autocast: {device_type}")
    return name


def _read_autocast(name):
    if name == "cpu":
        return _C._get_autocast()
    return getattr(_elsewhere, name, (False, _AUTOCAST_DTYPES[name]))


def _write_autocast(name, enabled, dtype):
    if name == "cpu":
        _C._set_autocast(enabled, dtype)
    else:
        setattr(_elsewhere, name, (enabled, dtype))


def _old_name(old, new):
    import warnings

    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def is_autocast_enabled(device_type="cuda"):
    """Whether operators on the device type run in autocast's dtype now."""
    return _read_autocast(_device_name(device_type, "is_autocast_enabled"))[0]


def set_autocast_enabled(device_type, enabled=...):
    """Turns autocast on or off for a device type ("cuda" where only the bool is given)."""
    position = 2
    if enabled is ...:
        device_type, enabled, position = "cuda", device_type, 1
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {position}) must be bool, not"
            f" {type(enabled).__name__}"
        )
    name = _device_name(device_type, "set_autocast_enabled")
    _write_autocast(name, enabled, _read_autocast(name)[1])


def get_autocast_dtype(device_type):
    """The dtype that autocast computes in on a device type."""
    return _read_autocast(_device_name(device_type, "get_autocast_dtype"))[1]


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast computes in on a device type."""
    name = _device_name(device_type, "set_autocast_dtype")
    if not isinstance(dtype, _C.dtype):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not"
            f" {type(dtype).__name__}"
        )
    _write_autocast(name, _read_autocast(name)[0], dtype)


def is_autocast_cpu_enabled():
    """Old name of ``is_autocast_enabled("cpu")``."""
    _old_name("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Old name of ``set_autocast_enabled("cpu", enabled)``."""
    _old_name("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """Old name of ``get_autocast_dtype("cpu")``."""
    _old_name("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """Old name of ``set_autocast_dtype("cpu", dtype)``."""
    _old_name("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """Old name of ``get_autocast_dtype("cuda")``."""
    _old_name("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """Old name of ``set_autocast_dtype("cuda", dtype)``."""
    _old_name("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled():
    """Whether a region of autocast casts each weight once."""
    return _C._get_autocast_cache()


def set_autocast_cache_enabled(enabled):
    """Chooses whether a region of autocast casts each weight once."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    _C._set_autocast_cache(enabled)


def clear_autocast_cache():
    """Forgets the casts of weights made so far."""
    _C._clear_autocast_cache()


def autocast_increment_nesting():
    """Enters a region of autocast; returns how many are open in this thread."""
    return _C._autocast_depth(1)


def autocast_decrement_nesting():
    """Leaves a region of autocast; returns how many are open in this thread."""
    return _C._autocast_depth(-1)


# ---- anomalies, determinism, precision


def is_anomaly_enabled():
    """Whether anomaly mode is on: see autograd.set_detect_anomaly."""
    return _C._get_anomaly()[0]


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for NaN."""
    return _C._get_anomaly()[1]


def set_anomaly_enabled(mode, check_nan=True):
    """Switches anomaly mode: see autograd.set_detect_anomaly."""
    _C._set_anomaly(bool(mode), bool(check_nan))


def get_deterministic_debug_mode():
    """0, 1 or 2 as set_deterministic_debug_mode set."""
    return _state["deterministic"]


def set_deterministic_debug_mode(debug_mode):
    """Remembers "default", "warn" or "error": results here never depend on thread timing."""
    mode = debug_mode
    if isinstance(mode, str):
        if mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{mode}"
            )
        mode = _MODES[mode]
    if mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _state["deterministic"] = mode


def is_deterministic_algorithms_warn_only_enabled():
    """Whether the debug mode is "warn"."""
    return _state["deterministic"] == 1


def get_float32_matmul_precision():
    """What set_float32_matmul_precision set."""
    return _state["matmul_precision"]


def set_float32_matmul_precision(precision):
    """Remembers "highest", "high" or "medium": float32 products always have full precision here."""
    if precision not in _PRECISIONS:
        raise RuntimeError(
            f"{precision!r} is not one of 'highest', 'high', or 'medium'; the precision stays"
            f" {_state['matmul_precision']!r}"
        )
    _state["matmul_precision"] = precision


def is_warn_always_enabled():
    """What set_warn_always set."""
    return _state["warn_always"]


def set_warn_always(b):
    """Remembers whether warnings are repeated; Python's filters decide here."""
    _state["warn_always"] = bool(b)


def get_num_interop_threads():
    """What set_num_interop_threads set; operators run one after the other here."""
    return _state["interop_threads"] or _C.get_num_threads()


def set_num_interop_threads(num_threads):
    """Remembers a number of threads; operators run one after the other here."""
    if num_threads < 1:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {num_threads}")
    _state["interop_threads"] = int(num_threads)


def set_default_tensor_type(t):
    """Sets the default float dtype from a tensor type or its name, as "torch.DoubleTensor"."""
    from ._legacy import TYPES

    if isinstance(t, str):
        name = t.removeprefix("torch.")
        if name not in TYPES:
            raise TypeError(f"invalid type object: {t!r} is not a tensor type")
        t = TYPES[name]
    dtype = getattr(t, "dtype", None)
    if not isinstance(dtype, _C.dtype) or not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {t}")
    _C.set_default_dtype(dtype)


# ---- tracing


def _get_tracing_state():
    """None: nothing is being traced. Programs ask for it as `torch._C._get_tracing_state`."""


_C._get_tracing_state = _get_tracing_state
