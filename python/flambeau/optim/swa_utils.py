"""Weight averaging: averaged models, their batch statistics, and the schedule SWALR.

`AveragedModel` becomes a subclass of the averaged model's own module base class, so that this
file needs no import of the module library.
"""

from __future__ import annotations

import itertools
import math
from copy import deepcopy

from flambeau._C import int64, ops
from flambeau.autograd import no_grad

from ._common import to_scalar
from .lr_scheduler import LRScheduler
from .lr_scheduler._base import per_group


def get_ema_multi_avg_fn(decay=0.999):
    """A function that moves lists of averages towards lists of parameters exponentially."""
    _check_decay(decay)
    ema_update = get_ema_avg_fn(decay)

    @no_grad()
    def update(ema_params, current_params, num_averaged):
        for ema, current in zip(ema_params, current_params):
            if ema.is_floating_point() or ema.is_complex():
                ema.lerp_(current, 1 - decay)
            else:
                ema.copy_(ema_update(ema, current, num_averaged))

    return update


def get_swa_multi_avg_fn():
    """A function that keeps lists of equally weighted averages."""

    @no_grad()
    def update(averaged_params, current_params, num_averaged):
        weight = to_scalar(1 / (num_averaged + 1))
        for averaged, current in zip(averaged_params, current_params):
            if averaged.is_floating_point() or averaged.is_complex():
                averaged.lerp_(current, weight)
            else:
                averaged.add_((current - averaged) * weight)

    return update


def get_ema_avg_fn(decay=0.999):
    """A function for the exponential average of one parameter."""
    _check_decay(decay)

    @no_grad()
    def update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return update


def get_swa_avg_fn():
    """A function for the equally weighted average of one parameter."""

    @no_grad()
    def update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return update


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _module_base(model):
    """The class that gives `model` its parameters and state: the last such in its MRO."""
    bases = [c for c in type(model).__mro__ if "named_parameters" in c.__dict__]
    if not bases:
        raise TypeError(f"AveragedModel: expected a module, but got {type(model).__name__}")
    return bases[-1]


def _with_base(cls, base):
    if issubclass(cls, base):
        return cls
    return type(cls.__name__, (cls, base), {"__module__": cls.__module__, "_averaged_class": cls})


def _empty_model(cls, base):
    """An uninitialized averaged model, for copying and unpickling."""
    return object.__new__(_with_base(cls, base))


class AveragedModel:
    """A module that holds a running average of another module's parameters.

    Args:
        model: the module to average; it is copied.
        device: where the copy goes.
        avg_fn: `avg_fn(average, parameter, num_averaged)` returns the new average.
        multi_avg_fn: the same in place, for lists of tensors of one device and dtype.
        use_buffers: average the buffers too, instead of copying them.

    Its forward pass is that of the averaged copy, `self.module`.
    """

    _averaged_class = None

    def __new__(cls, model, *args, **kwargs):
        return _empty_model(cls, _module_base(model))

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.zeros((), dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def __reduce_ex__(self, protocol):
        cls = type(self)._averaged_class or type(self)
        state = self.__getstate__() if hasattr(self, "__getstate__") else self.__dict__
        return _empty_model, (cls, _module_base(self)), state

    def forward(self, *args, **kwargs):
        """The averaged module's forward pass."""
        return self.module(*args, **kwargs)

    def _averaged_tensors(self, model):
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()

    def update_parameters(self, model):
        """Takes the parameters of `model` into the average."""
        averages, currents = [], []
        for average, current in zip(
            self._averaged_tensors(self.module), self._averaged_tensors(model)
        ):
            current = current.detach().to(average.device)
            if self.n_averaged == 0:
                average.detach().copy_(current)
            averages.append(average.detach())
            currents.append(current)
        if self.n_averaged > 0:
            self._average(averages, currents)
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers()):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1

    def _average(self, averages, currents):
        if self.multi_avg_fn is not None:
            alike: dict = {}
            for average, current in zip(averages, currents):
                lists = alike.setdefault((average.device, average.dtype), ([], []))
                lists[0].append(average)
                lists[1].append(current)
            for (device, _), lists in alike.items():
                self.multi_avg_fn(*lists, self.n_averaged.to(device))
            return
        avg_fn = self.avg_fn or get_swa_avg_fn()
        for average, current in zip(averages, currents):
            count = self.n_averaged.to(average.device)
            average.copy_(avg_fn(average, current, count))


def _is_batch_norm(module):
    return any(c.__name__ == "_BatchNorm" for c in type(module).__mro__)


@no_grad()
def update_bn(loader, model, device=None):
    """Recomputes the running statistics of a model's batch norms by one pass over a loader.

    Args:
        loader: batches; of a list or tuple the first element is the input.
        model: a module; it is left in the mode it was in.
        device: where inputs are sent.
    """
    norms = {m: m.momentum for m in model.modules() if _is_batch_norm(m)}
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
    was_training = model.training
    model.train()
    # Without a momentum the running statistics are plain averages over all batches.
    for norm in norms:
        norm.momentum = None
    for batch in loader:
        if isinstance(batch, list | tuple):
            batch = batch[0]
        if device is not None:
            batch = batch.to(device)
        model(batch)
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(was_training)


def _cosine_anneal(t):
    return (1 - math.cos(math.pi * t)) / 2


def _linear_anneal(t):
    return t


class SWALR(LRScheduler):
    """Anneals the rates to a constant `swa_lr` in `anneal_epochs` epochs.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        swa_lr: the final rate, one number or one for each group.
        anneal_epochs: epochs until then.
        anneal_strategy: "cos" or "linear".
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for value, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = value
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """The part of the way to `swa_lr` at time `t` in [0, 1]."""
        return _cosine_anneal(t) if self._anneal_strategy == "cos" else _linear_anneal(t)

    def get_lr(self):
        """The rates on the way from the current ones to `swa_lr`."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        now = self.anneal_func(max(0, min(1, step / length)))
        lrs = []
        for group in self.optimizer.param_groups:
            swa_lr, lr = group["swa_lr"], group["lr"]
            start = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            lrs.append(swa_lr * now + start * (1 - now))
        return lrs
