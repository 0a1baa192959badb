"""The default device as a mode; `flambeau.set_default_device` and ``with device:`` use it."""

from flambeau._device_mode import DeviceContext, device_decorator, set_device

__all__ = ["DeviceContext", "device_decorator", "set_device"]
