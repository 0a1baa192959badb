"""Schedules that rise and fall: warm restarts, triangular cycles, one cycle."""

from __future__ import annotations

import math
from functools import partial

from ._base import (
    LRScheduler,
    check_optimizer,
    per_group,
    set_param_group_value,
)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lets the rates fall along a cosine and jump back up, each period `T_mult` times longer.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        T_0: epochs in the first period.
        T_mult: integer factor from one period to the next.
        eta_min: the smallest rate.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at the place in the current period."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]

    def step(self, epoch=None):
        """Moves on by one epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_lrs(values)

    def _update_lr(self, epoch=None):
        self.step(epoch)

    def _go_to(self, epoch):
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            periods = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            begin = self.T_0 * (self.T_mult**periods - 1) / (self.T_mult - 1)
            self.T_cur = epoch - begin
            self.T_i = self.T_0 * self.T_mult**periods


def _set_momentum(group, value):
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _check_momentum(optimizer):
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
            f"{type(optimizer).__name__} has neither, use cycle_momentum=False"
        )


def _triangular(x):
    return 1.0


def _triangular2(x):
    return 1 / (2.0 ** (x - 1))


def _exp_range(gamma, x):
    return gamma**x


class CyclicLR(LRScheduler):
    """Lets the rates move in a triangle between two bounds, and momentum the other way.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        base_lr, max_lr: the bounds, one number or one for each group.
        step_size_up, step_size_down: steps in the rising and the falling half.
        mode: "triangular", "triangular2" (half the height each cycle), or "exp_range".
        gamma: base of "exp_range".
        scale_fn, scale_mode: a scale of one's own, a function of the "cycle" or of "iterations".
        cycle_momentum, base_momentum, max_momentum: momentum (or beta1) and its bounds.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_param_group_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum(optimizer)
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for high, low, group in zip(
                    self.max_momentums, self.base_momentums, optimizer.param_groups
                ):
                    _set_momentum(group, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self):
        if self._scale_fn_custom is not None:
            self._scale_fn_ref = self._scale_fn_custom
        elif self.mode == "exp_range":
            self._scale_fn_ref = partial(_exp_range, self.gamma)
            self.scale_mode = "iterations"
        else:
            self._scale_fn_ref = _triangular2 if self.mode == "triangular2" else _triangular
            self.scale_mode = "cycle"

    def scale_fn(self, x):
        """The height of the triangle in cycle `x` or at iteration `x`."""
        return self._scale_fn_ref(x)

    def get_lr(self):
        """The rates on the triangle; sets the momenta too."""
        self._warn_outside_step()
        position = 1 + self.last_epoch / self.total_size
        cycle = math.floor(position)
        x = position - cycle
        ratio = self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        base_lrs = self.base_lrs
        lrs = [low + (high - low) * height * scale for low, high in zip(base_lrs, self.max_lrs)]
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups
            ):
                _set_momentum(group, high - (high - low) * height * scale)
        return lrs

    def state_dict(self):
        """The state; of a custom `scale_fn` that is an object, its `__dict__`."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if function is not None and not hasattr(function, "__code__"):
            state["_scale_fn_custom"] = function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict):
        """Loads what `state_dict()` returned."""
        state = dict(state_dict)
        values = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if values is not None:
            self._scale_fn_custom.__dict__.update(values)
        self._init_scale_fn()


def _anneal_cos(start, end, pct):
    return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)


def _anneal_linear(start, end, pct):
    return (end - start) * pct + start


class OneCycleLR(LRScheduler):
    """One rise of the rates to `max_lr` and one long fall, and momentum the other way.

    Args:
        optimizer, last_epoch: as in `LRScheduler`.
        max_lr: the largest rate, one number or one for each group.
        total_steps: steps in the cycle; or `epochs` and `steps_per_epoch`.
        pct_start: the part of the cycle that rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: momentum (or beta1) and its bounds.
        div_factor: the initial rate is `max_lr / div_factor`.
        final_div_factor: the last rate is the initial one divided by this.
        three_phase: fall back to the initial rate first, then to the last.
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or pct_start < 0 or pct_start > 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, largest in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = largest / div_factor
                group["max_lr"] = largest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum(optimizer)
            self.use_beta1 = "betas" in optimizer.defaults
            if last_epoch == -1:
                largest = per_group("max_momentum", optimizer, max_momentum)
                smallest = per_group("base_momentum", optimizer, base_momentum)
                for high, low, group in zip(largest, smallest, optimizer.param_groups):
                    _set_momentum(group, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates at this place of the cycle; sets the momenta too."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        begin = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        pct = (step - begin) / (phase["end_step"] - begin)
        anneal = _anneal_cos if self._anneal_func_type == "cos" else _anneal_linear
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], pct))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, anneal(start, end, pct))
        return lrs


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    named = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        named = {"total_steps": total_steps}
    for name, value in named.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return total_steps if total_steps is not None else epochs * steps_per_epoch


def _phase(end_step, lrs, momenta):
    return {
        "end_step": end_step,
        "start_lr": lrs[0],
        "end_lr": lrs[1],
        "start_momentum": momenta[0],
        "end_momentum": momenta[1],
    }


def _phases(total, pct_start, three_phase):
    low, high, last = "initial_lr", "max_lr", "min_lr"
    down, up = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    rise = _phase(float(pct_start * total) - 1, (low, high), down)
    if not three_phase:
        return [rise, _phase(total - 1, (high, last), up)]
    return [
        rise,
        _phase(float(2 * pct_start * total) - 2, (high, low), up),
        _phase(total - 1, (low, last), ("max_momentum", "max_momentum")),
    ]
