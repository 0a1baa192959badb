"""Schedules given by a function of the step: steps, lines, powers, exponentials, one cosine.

Each `get_lr` derives the next rate from the current one, so that schedules can be chained;
`_get_closed_form_lr` gives the rate at any step from the initial one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter

from ._base import LRScheduler


class _FunctionLR(LRScheduler):
    """A schedule of one function for each group; function objects keep their state."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if isinstance(lr_lambda, list | tuple):
            if len(lr_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """The state without the functions; of function objects, their `__dict__`."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [
            None if hasattr(f, "__code__") else f.__dict__.copy() for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict):
        """Loads what `state_dict()` returned into the schedule and its function objects."""
        state = dict(state_dict)
        lambdas = state.pop("lr_lambdas")
        super().load_state_dict(state)
        for function, values in zip(self.lr_lambdas, lambdas):
            if values is not None:
                function.__dict__.update(values)


class LambdaLR(_FunctionLR):
    """Sets each rate to the initial one times `lr_lambda(epoch)`.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        lr_lambda: a function of the epoch, or a list with one for each group.
    """

    def get_lr(self):
        """Initial rates times the functions' values."""
        self._warn_outside_step()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_FunctionLR):
    """Multiplies each rate by `lr_lambda(epoch)`.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        lr_lambda: a function of the epoch, or a list with one for each group.
    """

    def get_lr(self):
        """Current rates times the functions' values."""
        self._warn_outside_step()
        if self._is_initial:
            return self._current_lrs()
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups)]


class StepLR(LRScheduler):
    """Multiplies the rates by `gamma` every `step_size` epochs.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        step_size: epochs between two changes.
        gamma: the factor.
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates, times gamma at the end of each period."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._current_lrs()
        return self._scaled_lrs(self.gamma)

    def _get_closed_form_lr(self):
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [lr * factor for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rates by `gamma` at each of the `milestones`.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        milestones: epochs; one given twice counts twice.
        gamma: the factor.
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates, times gamma at a milestone."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._current_lrs()
        return self._scaled_lrs(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        milestones = sorted(self.milestones.elements())
        factor = self.gamma ** bisect_right(milestones, self.last_epoch)
        return [lr * factor for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the rates by `factor` for the first `total_iters` epochs.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        factor: between 0 and 1.
        total_iters: epochs with the smaller rate.
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError(
                "Constant multiplicative factor expected to be between 0 and 1. "
                f"Got factor={factor}"
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates, scaled down at the start and back up at the end."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled_lrs(self.factor)
        if self.last_epoch != self.total_iters:
            return self._current_lrs()
        return self._scaled_lrs(1.0 / self.factor)

    def _get_closed_form_lr(self):
        done = self.last_epoch >= self.total_iters
        return [lr * (self.factor + done * (1 - self.factor)) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """Changes the factor on the rates in a line from `start_factor` to `end_factor`.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        start_factor: in (0, 1].
        end_factor: in [0, 1].
        total_iters: epochs until the end factor.

    >>> optimizer = flambeau.optim.SGD([flambeau.ones(1)], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1
    ):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                f"to 1. Got start_factor={start_factor}"
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError(
                "Ending multiplicative factor expected to be between 0 and 1. "
                f"Got end_factor={end_factor}"
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates times the ratio of this factor and the last."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled_lrs(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current_lrs()
        change = self.end_factor - self.start_factor
        last = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return self._scaled_lrs(1.0 + change / last)

    def _get_closed_form_lr(self):
        done = min(self.total_iters, self.last_epoch)
        change = (self.end_factor - self.start_factor) * done / self.total_iters
        return [lr * (self.start_factor + change) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rates by `gamma` every epoch.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        gamma: the factor.
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates times gamma."""
        self._warn_outside_step()
        return self._current_lrs() if self._is_initial else self._scaled_lrs(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Lets the rates fall to zero as `(1 - epoch / total_iters) ** power`.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        total_iters: epochs until zero.
        power: the exponent.
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """Current rates times the ratio of this factor and the last."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current_lrs()
        now = 1.0 - self.last_epoch / self.total_iters
        last = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled_lrs((now / last) ** self.power)

    def _get_closed_form_lr(self):
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (1.0 - done) ** self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Lets the rates swing between the initial one and `eta_min` along a cosine.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        T_max: epochs in half a period.
        eta_min: the smallest rate.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that follow the current ones on the cosine."""
        self._warn_outside_step()
        groups, eta_min, t = self.optimizer.param_groups, self.eta_min, self.last_epoch
        if self._is_initial:
            return self._current_lrs()
        if self._step_count == 1 and t > 0:
            return self._get_closed_form_lr()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The last rate was eta_min, so that the ratio below is undefined.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [g["lr"] + (lr - eta_min) * rise for lr, g in zip(self.base_lrs, groups)]
        now = 1 + math.cos(math.pi * t / self.T_max)
        last = 1 + math.cos(math.pi * (t - 1) / self.T_max)
        return [now / last * (group["lr"] - eta_min) + eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]
