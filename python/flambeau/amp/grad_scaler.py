"""Losses scaled up so that small gradients survive float16, by a factor that finds its own size."""

from __future__ import annotations

import inspect
import warnings
from collections import abc, defaultdict
from enum import Enum
from typing import Any

import flambeau
from flambeau import _C


class OptState(Enum):
    """What has happened to an optimizer's gradients since the last ``update()``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


_NOT_SCALED = (
    "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the"
    " iteration."
)
_NEW_SCALE = (
    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with"
    " requires_grad=False."
)


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it before the optimizer sees them, skips
    steps whose gradients are not finite, and adapts the scale: times ``backoff_factor`` after such
    a step, times ``growth_factor`` after ``growth_interval`` steps without one.

    Args: ``device`` "cuda" (disabled with a warning where there is none) or "cpu"; ``init_scale``,
    ``growth_factor``, ``backoff_factor``, ``growth_interval``; ``enabled``.

    Example:
        >>> w = flambeau.nn.Parameter(flambeau.ones(2))
        >>> opt = flambeau.optim.SGD([w], lr=0.5)
        >>> scaler = flambeau.amp.GradScaler("cpu", init_scale=1024.0)
        >>> scaler.scale(w.sum()).backward()
        >>> scaler.step(opt)
        >>> scaler.update()
        >>> w.detach(), scaler.get_scale()
        (tensor([0.5000, 0.5000]), 1024.0)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Any = None  # made by the first call of scale(), on the device of the loss
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states: Any = defaultdict(_fresh_state)

    # ---- one iteration

    def scale(self, outputs):
        """``outputs``, a tensor or (nested) iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale
        if isinstance(outputs, abc.Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the scale, to clip or to look at them before `step`,
        which does it where this was not called."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, self._inverse_scale(), self._nothing_found(), False
        )
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(*args, **kwargs)`` on gradients divided by the scale, unless one of them
        is not finite. Returns what the step does, or None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._scaling_step(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """The scale of the next iteration, or ``new_scale``, a float or a tensor of one element."""
        if not self._enabled:
            return
        scale, growth_tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                t
                for state in self._per_optimizer_states.values()
                for t in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            flambeau._amp_update_scale_(
                scale,
                growth_tracker,
                sum(found[1:], found[0]),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        fits = isinstance(new_scale, _C.Tensor)
        if not (fits and new_scale.numel() == 1 and not new_scale.requires_grad):
            raise AssertionError(_NEW_SCALE)
        self._scale.copy_(new_scale)

    # ---- its parts

    def _check_scale_growth_tracker(self, funcname):
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {funcname} but {name} is None.  {_NOT_SCALED}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev):
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = flambeau.full((), self._init_scale, dtype=_C.float32, device=dev)
        self._growth_tracker = flambeau.full(
            (), self._init_growth_tracker, dtype=_C.int32, device=dev
        )

    def _inverse_scale(self):
        return self._scale.double().reciprocal().float()

    def _nothing_found(self):
        return flambeau.zeros((), dtype=_C.float32, device=self._scale.device)

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """{device: whether a gradient there is not finite}, for devices with gradients."""
        grads = []
        for group in optimizer.param_groups:
            for param in group["params"]:
                if not isinstance(param, _C.Tensor):
                    raise AssertionError(
                        f"expected param to be torch.Tensor, got {type(param).__name__}"
                    )
                if param.grad is None:
                    continue
                if not allow_fp16 and param.grad.dtype == _C.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if param.grad.is_sparse:
                    if param.grad.dtype == _C.float16:  # sums may overflow
                        param.grad = param.grad.coalesce()
                    grads.append(param.grad._values())
                else:
                    grads.append(param.grad)
        if not grads:
            return {}
        with flambeau.no_grad():
            flambeau._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)
        return {found_inf.device: found_inf}

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if any(t.item() for t in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _scaling_step(self, optimizer, state, args, kwargs):
        """The step of an optimizer that divides by the scale itself: it finds ``grad_scale`` and
        ``found_inf`` among its attributes, or takes the scaler as an argument."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        given = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            given = self._scale if given is None else self._scale * given
        optimizer.grad_scale = given
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def _check_inf_per_device(self, optimizer):
        """Looks for elements that are not finite and leaves the gradients as they are."""
        self._check_scale_growth_tracker("_check_inf_per_device")
        found = self._unscale_grads_(
            optimizer, flambeau.ones_like(self._scale), self._nothing_found(), True
        )
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ---- numbers

    def _get_scale_async(self):
        return self._scale

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return (
            self._init_growth_tracker
            if self._growth_tracker is None
            else self._growth_tracker.item()
        )

    def get_scale(self):
        """The scale, a float; 1.0 where disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """Factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """Factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """Number of steps in a row with finite gradients after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self):
        """Whether the scaler does anything."""
        return self._enabled

    # ---- saving

    def state_dict(self):
        """What `load_state_dict` needs to go on from here; empty where disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Takes over the result of another scaler's `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved "
                "from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning "
                    "of an iteration, or at the end after scaler.update()."
                )
            # numbers instead of tensors: the next scale() makes them anew on the loss's device
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


__all__ = ["GradScaler", "OptState"]
