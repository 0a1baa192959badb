"""Optimizer state goes over to PyTorch and back, in the middle of a run.

`data/saved_by_pytorch.pt` is what `record(torch)` returns and `data/saved_by_flambeau.pt` what
`record(flambeau)` does, but for "after": in both files these are the parameters that PyTorch 2.13
came to when it went on from "params" and "state".
"""

import math
from pathlib import Path

import pytest

import flambeau

DATA = Path(__file__).parent / "data"
STEPS = 5
SHAPES = [(3, 4), (5,), ()]
RUNS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.05, "amsgrad": True, "betas": (0.8, 0.95)},
    "AdamW": {"lr": 0.05, "weight_decay": 0.1},
    "RMSprop": {"lr": 0.02, "centered": True, "momentum": 0.5},
    "NAdam": {"lr": 0.05, "momentum_decay": 0.01},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1},
    "ASGD": {"lr": 0.1, "t0": 3, "lambd": 0.01},
}


def fixed(lib, shape, start):
    """Fixed numbers in (-1, 1)."""
    count = math.prod(shape)
    values = [math.sin(1.3 * i + start) for i in range(count)]
    return lib.tensor(values).reshape(shape)


def gradients(lib, step):
    """Those of a step, one for each parameter; the second begins to have one in step 2."""
    grads = [fixed(lib, shape, 0.9 * step + 2 * i) for i, shape in enumerate(SHAPES)]
    return grads if step >= 2 else [grads[0], None, grads[2]]


def make(lib, name):
    """Parameters in two named groups, the second with half the rate."""
    params = [fixed(lib, shape, i).requires_grad_() for i, shape in enumerate(SHAPES)]
    named = [(f"p{i}", p) for i, p in enumerate(params)]
    options = RUNS[name]
    groups = [{"params": named[:2]}, {"params": named[2:], "lr": options["lr"] / 2}]
    return params, getattr(lib.optim, name)(groups, **options)


def go(lib, params, optimizer, steps):
    for step in steps:
        for p, grad in zip(params, gradients(lib, step)):
            p.grad = grad
        optimizer.step()
    return [p.detach().clone() for p in params]


def record(lib):
    """For each optimizer: its state and the parameters in the middle, the parameters at the end."""
    out = {}
    for name in RUNS:
        params, optimizer = make(lib, name)
        middle = go(lib, params, optimizer, range(STEPS))
        state = optimizer.state_dict()
        out[name] = {"params": middle, "state": {**state, "state": copied(state["state"])}}
        out[name]["after"] = go(lib, params, optimizer, range(STEPS, 2 * STEPS))
    return out


def copied(state):
    return {i: {key: value.clone() for key, value in s.items()} for i, s in state.items()}


def resumed(lib, name, saved):
    """The parameters after the second half, from a saved middle."""
    params, optimizer = make(lib, name)
    for p, value in zip(params, saved["params"]):
        p.detach().copy_(value)
    optimizer.load_state_dict(saved["state"])
    return go(lib, params, optimizer, range(STEPS, 2 * STEPS))


def load(writer):
    return flambeau.load(DATA / f"saved_by_{writer}.pt")


@pytest.mark.parametrize("writer", ["pytorch", "flambeau"])
@pytest.mark.parametrize("name", RUNS)
def test_resumed_run_goes_where_pytorch_goes(name, writer):
    saved = load(writer)[name]
    for got, expected in zip(resumed(flambeau, name, saved), saved["after"]):
        flambeau.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", RUNS)
def test_state_dicts_are_the_same(name):
    ours, theirs = record(flambeau)[name]["state"], load("pytorch")[name]["state"]
    assert list(ours) == list(theirs)
    for mine, other in zip(ours["param_groups"], theirs["param_groups"]):
        assert list(mine.items()) == list(other.items())
    assert list(ours["state"]) == list(theirs["state"])
    for number, entries in theirs["state"].items():
        assert list(ours["state"][number]) == list(entries)
        for key, value in entries.items():
            flambeau.testing.assert_close(ours["state"][number][key], value, msg=key)


@pytest.mark.parametrize("name", RUNS)
def test_saved_state_did_not_change(name):
    """What was written for PyTorch to read is what is written now."""
    mine, stored = record(flambeau)[name], load("flambeau")[name]
    for got, expected in zip(mine["params"], stored["params"]):
        flambeau.testing.assert_close(got, expected)
    assert mine["state"]["param_groups"] == stored["state"]["param_groups"]
