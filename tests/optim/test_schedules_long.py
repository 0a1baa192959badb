"""Long runs of every schedule: resumed, reloaded, sent to epochs, against PyTorch's rates.

`data/schedules_long.json` is `{key: play(torch, key) for key in KEYS}` with PyTorch 2.13, numbers
to ten digits. A row is the rates of two groups, and the first one's momentum where it cycles.
"""

import json
import math
import warnings
from pathlib import Path

import pytest

import flambeau

DATA = Path(__file__).parent / "data" / "schedules_long.json"
STEPS = 56
EPOCHS = [1, 2, 5, 3, 3, 0, 10, 25, 24]

SCHEDULES = {
    "StepLR": [{"step_size": 7, "gamma": 0.3}, {"step_size": 1}],
    "MultiStepLR": [{"milestones": [3, 3, 10, 30], "gamma": 0.4}],
    "ConstantLR": [{"factor": 0.3, "total_iters": 8}, {"factor": 0.5, "total_iters": 0}],
    "LinearLR": [{"start_factor": 0.1, "end_factor": 0.9, "total_iters": 12}, {}],
    "ExponentialLR": [{"gamma": 0.93}],
    "PolynomialLR": [{"total_iters": 20, "power": 2.0}, {}],
    "CosineAnnealingLR": [{"T_max": 10, "eta_min": 0.01}, {"T_max": 60}, {"T_max": 1}],
    "CosineAnnealingWarmRestarts": [{"T_0": 5, "T_mult": 2, "eta_min": 0.001}, {"T_0": 8}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 5, "step_size_down": 9},
        {"base_lr": [0.01, 0.02], "max_lr": 0.2, "step_size_up": 5, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 4, "mode": "exp_range", "gamma": 0.97},
    ],
    "OneCycleLR": [
        {"max_lr": 1.0, "total_steps": 60},
        {"max_lr": [1.0, 0.3], "epochs": 6, "steps_per_epoch": 10, "three_phase": True},
        {"max_lr": 0.7, "total_steps": 61, "anneal_strategy": "linear", "pct_start": 0.4},
    ],
    "SWALR": [{"swa_lr": 0.05}, {"swa_lr": [0.05, 0.2], "anneal_strategy": "linear"}],
    "LambdaLR": [{"lr_lambda": "[lambda e: 0.9**e, lambda e: 1 / (1 + e)]"}],
    "MultiplicativeLR": [{"lr_lambda": "lambda e: 0.95"}],
    "SequentialLR": [
        {
            "schedulers": "[S.ConstantLR(o, 0.1, 5), S.ExponentialLR(o, 0.9), S.StepLR(o, 4)]",
            "milestones": [6, 20],
        },
        {
            "schedulers": "[S.LinearLR(o, 0.1, 1.0, 5), S.CosineAnnealingWarmRestarts(o, 7)]",
            "milestones": [5],
        },
    ],
    "ChainedScheduler": [
        {"schedulers": "[S.StepLR(o, 5, 0.5), S.LinearLR(o, 0.2), S.CosineAnnealingLR(o, 30)]"}
    ],
}
COMPOSED = ("SequentialLR", "ChainedScheduler")
PLATEAUS = [
    {"mode": "max", "threshold": 0.2, "threshold_mode": "abs", "patience": 1},
    {"factor": 0.5, "patience": 2, "cooldown": 3},
    {"patience": 0, "min_lr": [0.1, 0.001]},
    {"patience": 0, "eps": 0.1},
]
METRICS = {
    "falls": lambda k: 1 / (1 + k // 6),
    "jumps": lambda k: math.sin(k * k),
    "nan": lambda k: math.nan if k % 5 == 0 else 3.0 - k * 0.01,
}
CASES = {f"{name}-{i}": (name, kw) for name, all_ in SCHEDULES.items() for i, kw in enumerate(all_)}
KEYS = [
    f"{case}/{way}"
    for case in CASES
    for way in ("run", "epochs", "reload", "resume")
    if not (way in ("epochs", "resume") and case.startswith(COMPOSED))
] + [f"{i}/{metric}" for i in range(len(PLATEAUS)) for metric in METRICS]


def make_optimizer(lib):
    groups = [{"params": [lib.zeros(1)], "lr": lr} for lr in (0.5, 0.03)]
    return lib.optim.SGD(groups, lr=1.0, momentum=0.9)


def make(lib, name, options, o, **more):
    S = lib.optim.lr_scheduler
    options = {
        k: eval(v, {"S": S, "o": o}) if k.startswith(("lr_l", "sch")) else v
        for k, v in options.items()
    }
    if name == "ChainedScheduler":
        return S.ChainedScheduler(**options)
    return getattr(lib.optim.swa_utils if name == "SWALR" else S, name)(o, **options, **more)


def row(optimizer):
    first, second = optimizer.param_groups
    values = [first["lr"], second["lr"], first["momentum"]]
    return [float(f"{v:.10g}") for v in (values if values[2] != 0.9 else values[:2])]


def rows_of(optimizer, scheduler, steps):
    rows = [row(optimizer)]
    for args in steps:
        optimizer.step()
        scheduler.step(*args)
        rows.append(row(optimizer))
    return rows


def play(lib, key):
    case, way = key.split("/")
    o = make_optimizer(lib)
    if way in METRICS:
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(o, **PLATEAUS[int(case)])
        return rows_of(o, scheduler, [[METRICS[way](k)] for k in range(STEPS)])
    name, options = CASES[case]
    scheduler = make(lib, name, options, o)
    if way == "run":
        return rows_of(o, scheduler, [[]] * STEPS)
    if way == "epochs":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rows_of(o, scheduler, [[epoch] for epoch in EPOCHS])
    rows_of(o, scheduler, [[]] * 11)
    if way == "resume":
        return rows_of(o, make(lib, name, options, o, last_epoch=11), [[]] * 15)
    twin = make_optimizer(lib)
    other = make(lib, name, options, twin)
    other.load_state_dict(scheduler.state_dict())
    twin.load_state_dict(o.state_dict())
    return rows_of(twin, other, [[]] * 15)


@pytest.fixture(scope="module")
def stored():
    return json.loads(DATA.read_text())


@pytest.mark.parametrize("key", KEYS)
def test_rates(key, stored):
    got, expected = play(flambeau, key), stored[key]
    assert len(got) == len(expected)
    for step, (mine, other) in enumerate(zip(got, expected)):
        assert mine == pytest.approx(other, rel=1e-8, abs=1e-15), step
