"""Global switches under their PyTorch names; those that choose among libraries only remember."""

from __future__ import annotations

from typing import Any

from . import _C

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
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
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_warn_always",
]

_state: dict[str, Any] = {
    "autocast_cache": True,
    "autocast_nesting": 0,
    "deterministic": 0,
    "interop_threads": None,
    "matmul_precision": "highest",
    "warn_always": False,
}
_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")


# ---- autocast


def _only_cpu(device_type):
    if device_type != "cpu":
        raise RuntimeError(f"autocast: expected the device type 'cpu', got {device_type!r}")


def is_autocast_enabled(device_type="cpu"):
    """Whether operators run in autocast's dtype now."""
    return device_type == "cpu" and _C._get_autocast()[0]


def set_autocast_enabled(device_type, enabled=None):
    """Turns autocast on or off for a device type."""
    if enabled is None:
        device_type, enabled = "cpu", device_type
    _only_cpu(device_type)
    _C._set_autocast(bool(enabled), _C._get_autocast()[1])


def get_autocast_dtype(device_type):
    """The dtype that autocast computes in on a device type."""
    _only_cpu(device_type)
    return _C._get_autocast()[1]


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast computes in on a device type."""
    _only_cpu(device_type)
    _C._set_autocast(_C._get_autocast()[0], dtype)


def is_autocast_cpu_enabled():
    """Whether autocast is on for the cpu."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Turns autocast on or off for the cpu."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """The dtype that autocast computes in on the cpu."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """Sets the dtype that autocast computes in on the cpu."""
    set_autocast_dtype("cpu", dtype)


def is_autocast_cache_enabled():
    """What set_autocast_cache_enabled set; casts are not cached here."""
    return _state["autocast_cache"]


def set_autocast_cache_enabled(enabled):
    """Accepted for compatibility: casts are not cached here."""
    _state["autocast_cache"] = bool(enabled)


def clear_autocast_cache():
    """Accepted for compatibility: casts are not cached here."""


def autocast_increment_nesting():
    """Counts a level of autocast; returns the depth."""
    _state["autocast_nesting"] += 1
    return _state["autocast_nesting"]


def autocast_decrement_nesting():
    """Leaves a level of autocast; returns the depth."""
    _state["autocast_nesting"] -= 1
    return _state["autocast_nesting"]


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
