"""The base of all schedules: counting steps and writing the groups' learning rates."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import wraps
from typing import Any
from weakref import ref

from flambeau._C import Tensor
from flambeau.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. With an epoch the closed form "
    "of the schedule is used, where there is one."
)


def _copy(value):
    return value.clone() if isinstance(value, Tensor) else value


def param_group_values(optimizer, key):
    """The groups' values of an option; tensors are copied, as they change in place."""
    return [_copy(group[key]) for group in optimizer.param_groups]


def set_param_group_value(group, key, value):
    """Sets a group's option; one held in a tensor is changed in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name, optimizer, value):
    """One value for each group, from a single value or a list of the right length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [_copy(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return [_copy(v) for v in value]


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of schedules; a subclass gives `get_lr()`.

    Args:
        optimizer: the optimizer whose groups' `lr` is set.
        last_epoch: -1 to begin; otherwise the number of steps already made, and every group must
            have its `initial_lr`.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0; load the optimizer's state first, or use "
                    "last_epoch=-1 for a fresh run"
                )
        self.base_lrs = param_group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        with self._initial_mode():
            self.step()

    @contextmanager
    def _initial_mode(self):
        self._is_initial = True
        try:
            yield
        finally:
            self._is_initial = False

    def state_dict(self):
        """The schedule's state, all but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Loads what `state_dict()` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates that the last step set, one for each group."""
        return list(self._last_lr)

    def get_lr(self):
        """The next learning rates, one for each group; called by `step`."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def step(self, epoch=None):
        """Moves the schedule on by one step, or to `epoch` (deprecated)."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self):
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`.",
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in "
                "the opposite order: the first value of the learning rate schedule is skipped "
                "otherwise.",
                stacklevel=3,
            )

    def _update_lr(self, epoch=None):
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_lrs(values)

    def _set_lrs(self, values):
        groups = self.optimizer.param_groups
        if len(values) != len(groups):
            raise ValueError(
                f"{type(self).__name__} has rates for {len(values)} parameter groups, but the "
                f"optimizer has {len(groups)}; make the scheduler after the last add_param_group"
            )
        for group, lr in zip(groups, values):
            set_param_group_value(group, "lr", lr)
        self._last_lr = param_group_values(self.optimizer, "lr")

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _current_lrs(self):
        return param_group_values(self.optimizer, "lr")

    def _scaled_lrs(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def _note_steps(optimizer):
    """Lets the optimizer remember that its `step` was called, to warn of a wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    optimizer_ref, step = ref(optimizer), optimizer.step.__func__

    @wraps(step)
    def wrapper(*args, **kwargs):
        target: Any = optimizer_ref()
        target._opt_called = True
        return step(target, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True
    optimizer.step = wrapper
