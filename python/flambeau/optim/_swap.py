"""Running an optimizer on other parameters and state for a while."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager


@contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Replaces an optimizer's parameters and state inside a `with` block.

    Args:
        optimizer: the optimizer, put back as it was at the end.
        swapin_parameters: tensors, or a dict of them, in the order of the optimizer's parameters.
        swapin_optim_state: a dict like `optimizer.state_dict()`; tensors in it are used as they
            are, not copied.
    """
    if isinstance(swapin_parameters, dict):
        swapin_parameters = swapin_parameters.values()
    params = list(swapin_parameters)
    count = sum(len(group["params"]) for group in optimizer.param_groups)
    if len(params) != count:
        raise ValueError(
            f"swap_in_optimizer_params_and_state: got {len(params)} parameters, expected {count}"
        )
    saved_groups, saved_state = optimizer.param_groups, optimizer.state
    by_number = dict(
        zip((n for g in swapin_optim_state["param_groups"] for n in g["params"]), params)
    )
    optimizer.param_groups = [
        {**group, "params": [by_number[n] for n in group["params"]]}
        for group in swapin_optim_state["param_groups"]
    ]
    optimizer.state = defaultdict(dict)
    for number, state in swapin_optim_state["state"].items():
        optimizer.state[by_number.get(number, number)] = dict(state)
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = saved_groups, saved_state
