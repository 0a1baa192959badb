"""The default device: a mode that gives factories the device they were not given."""

from __future__ import annotations

import functools
from _thread import _local as _thread_local

from . import _C, _factory
from ._C import ops
from ._torch_function import TorchFunctionMode, _get_current_function_mode_stack

_thread = _thread_local()  # .default: the mode that set_default_device put in place

_OPERATORS = (
    "arange bartlett_window blackman_window empty empty_permuted empty_strided eye fft_fftfreq"
    " fft_rfftfreq full hamming_window hann_window kaiser_window linspace logspace ones rand"
    " randint randn randperm scalar_tensor tril_indices triu_indices zeros"
)


@functools.cache
def _device_constructors():
    found = {getattr(ops, name) for name in _OPERATORS.split()}
    return found | {_factory.tensor, _factory.as_tensor, _factory.asarray}


class DeviceContext(TorchFunctionMode):
    """Within it, factories that are given no device make their tensors on ``device``."""

    def __init__(self, device) -> None:
        self.device = _C.device(device)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.device})"


def _enter(device):
    _C._push_on_torch_function_stack(DeviceContext(device))
    return device


def _exit(device):
    _C._pop_torch_function_stack()


def current_device():
    """The device that a factory would use now."""
    for mode in reversed(_get_current_function_mode_stack()):
        if isinstance(mode, DeviceContext):
            return mode.device
    return _C.device("cpu")


def set_default(device) -> None:
    """What `flambeau.set_default_device` does: a mode below all others of this thread."""
    new = None if device is None else DeviceContext(device)
    if new is not None and new.device.type == "cpu":
        new = None
    old = getattr(_thread, "default", None)
    modes = [_C._pop_torch_function_stack() for _ in range(_C._len_torch_function_stack())][::-1]
    modes = [mode for mode in modes if mode is not old]
    for mode in ([new] if new else []) + modes:
        _C._push_on_torch_function_stack(mode)
    _thread.default = new


def device_decorator(device, function):
    """``function``, running with ``device`` as the default device."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with device if isinstance(device, _C.device) else _C.device(device):
            return function(*args, **kwargs)

    return wrapped


def set_device(device):
    """Decorator: the function runs with ``device`` as the default device."""
    return lambda function: device_decorator(device, function)
