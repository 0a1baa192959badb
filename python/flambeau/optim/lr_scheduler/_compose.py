"""Schedules made of others: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right

from ._base import LRScheduler, param_group_values, set_param_group_value
from ._plateau import ReduceLROnPlateau


class _ComposedLR(LRScheduler):
    def state_dict(self):
        """The state of this schedule and, in `_schedulers`, of those it is made of."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Loads what `state_dict()` returned."""
        state = dict(state_dict)
        parts = state.pop("_schedulers")
        self.__dict__.update(state)
        for scheduler, part in zip(self._schedulers, parts):
            scheduler.load_state_dict(part)


def _check_parts(name, schedulers, optimizer):
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {i} in the "
                "given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got "
                f"scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, "
                f"which is different from {type(optimizer).__name__}."
            )


class SequentialLR(_ComposedLR):
    """Uses one schedule after the other, switching at the milestones.

    Args:
        optimizer: the optimizer of all schedules.
        schedulers: the schedules, in order.
        milestones: the epochs at which the next one begins, one fewer than schedules.
        last_epoch: number of steps already made, -1 for none.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check_parts("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule made its first step when it was built; only the first one's counts.
        for group in optimizer.param_groups:
            set_param_group_value(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _undo_step(scheduler)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self):  # type: ignore[override]
        """Moves the current schedule on, or begins the next at a milestone."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo_step(scheduler):
    if hasattr(scheduler, "_schedulers"):
        for part in scheduler._schedulers:
            _undo_step(part)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_ComposedLR):
    """Steps several schedules together, each on top of what the others set.

    Args:
        schedulers: the schedules, of one optimizer.
        optimizer: that optimizer; the first schedule's if not given.
    """

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        if optimizer is None:
            optimizer = getattr(schedulers[0], "optimizer", None)
        _check_parts("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = param_group_values(optimizer, "lr")

    def step(self):  # type: ignore[override]
        """Steps every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = param_group_values(self.optimizer, "lr")
