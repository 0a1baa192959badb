"""Schedules: rates against stored numbers and closed forms, composition, saving, errors."""

import json
import math
import warnings
from pathlib import Path

import pytest

import flambeau
from flambeau import optim
from flambeau.optim import lr_scheduler, swa_utils

DATA = Path(__file__).parent / "data" / "schedules.json"
SCHEDULES = json.loads(DATA.read_text())["schedules"]


def run_schedule(lib, name, options, steps=14):
    """[lr, momentum] at the beginning and after every step."""
    optimizer = lib.optim.SGD([lib.zeros(1)], lr=0.1, momentum=0.9)
    scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer, **options)
    group = optimizer.param_groups[0]
    rows = [[group["lr"], group["momentum"]]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        rows.append([group["lr"], group["momentum"]])
    return rows


def sgd(groups=1, lr=0.1, **options):
    params = [{"params": [flambeau.zeros(1)]} for _ in range(groups)]
    return optim.SGD(params, lr=lr, **options)


def rates(scheduler, steps):
    out = [scheduler.optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        out.append(scheduler.optimizer.param_groups[0]["lr"])
    return out


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s["name"])
def test_schedule(schedule):
    rows = run_schedule(flambeau, schedule["name"], schedule["options"])
    for got, expected in zip(rows, schedule["rows"], strict=True):
        assert got == pytest.approx(expected, rel=1e-12)


def test_lambdas():
    got = rates(lr_scheduler.LambdaLR(sgd(), lambda t: 1 / (t + 1)), 3)
    assert got == pytest.approx([0.1 / (t + 1) for t in range(4)])
    got = rates(lr_scheduler.MultiplicativeLR(sgd(), lambda t: t), 4)
    assert got == pytest.approx([0.1 * math.factorial(t) for t in range(5)])


def test_one_function_or_rate_for_each_group():
    optimizer = sgd(2)
    scheduler = lr_scheduler.LambdaLR(optimizer, [lambda t: 1.0, lambda t: 0.5])
    assert scheduler.get_last_lr() == [0.1, 0.05]
    lr_scheduler.OneCycleLR(optimizer, [1.0, 2.0], 10, cycle_momentum=False)
    assert [g["max_lr"] for g in optimizer.param_groups] == [1.0, 2.0]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s["name"])
def test_tensor_lr_changes_in_place(schedule):
    lr = flambeau.tensor(0.1)
    optimizer = sgd(lr=lr, momentum=0.9)
    scheduler = getattr(lr_scheduler, schedule["name"])(optimizer, **schedule["options"])
    for row in schedule["rows"][1:5]:
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] is lr
        assert lr.item() == pytest.approx(row[0], rel=1e-5)


def test_step_to_an_epoch_uses_the_closed_form():
    for name, options in (
        ("StepLR", {"step_size": 2}),
        ("MultiStepLR", {"milestones": [1, 3]}),
        ("ConstantLR", {}),
        ("LinearLR", {}),
        ("ExponentialLR", {"gamma": 0.5}),
        ("PolynomialLR", {}),
        ("CosineAnnealingLR", {"T_max": 7}),
    ):
        chain = rates(getattr(lr_scheduler, name)(sgd(), **options), 6)
        scheduler = getattr(lr_scheduler, name)(sgd(), **options)
        for epoch in (4, 2, 6, 0):
            scheduler.optimizer.step()
            with pytest.warns(UserWarning, match="epoch parameter"):
                scheduler.step(epoch)
            assert scheduler.get_last_lr()[0] == pytest.approx(chain[epoch]), name


def test_sequential_and_chained():
    optimizer = sgd()
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    got = rates(lr_scheduler.SequentialLR(optimizer, parts, [2]), 4)
    assert got == pytest.approx([0.01, 0.01, 0.1, 0.09, 0.081])
    optimizer = sgd()
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    got = rates(lr_scheduler.ChainedScheduler(parts), 4)
    assert got == pytest.approx([0.01, 0.009, 0.081, 0.0729, 0.06561])


def test_saving_and_loading():
    class Half:
        def __init__(self):
            self.scale = 0.5

        def __call__(self, epoch):
            return self.scale

    for make in (
        lambda o: lr_scheduler.StepLR(o, 2),
        lambda o: lr_scheduler.LambdaLR(o, Half()),
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
        lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.LinearLR(o), lr_scheduler.StepLR(o, 1)], [2]
        ),
        lambda o: lr_scheduler.ReduceLROnPlateau(o),
    ):
        one, two = make(sgd(momentum=0.9)), make(sgd(momentum=0.9))
        args = [1.0] if isinstance(one, lr_scheduler.ReduceLROnPlateau) else []
        for _ in range(3):
            one.optimizer.step()
            one.step(*args)
        saved = one.state_dict()
        assert "optimizer" not in saved
        two.load_state_dict(saved)
        two.optimizer.load_state_dict(one.optimizer.state_dict())
        for scheduler in (one, two):
            scheduler.optimizer.step()
            scheduler.step(*args)
        assert one.get_last_lr() == two.get_last_lr()
        assert one.last_epoch == two.last_epoch == 4


def test_resuming_with_last_epoch():
    optimizer = sgd()
    optimizer.param_groups[0]["initial_lr"] = 0.1
    scheduler = lr_scheduler.StepLR(optimizer, 2, last_epoch=2)
    assert scheduler.last_epoch == 3
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified"):
        lr_scheduler.StepLR(sgd(), 2, last_epoch=2)


PLATEAU = [
    ({"patience": 1}, [1, 0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.01, 0.01]),
    ({"patience": 0, "mode": "max"}, [1, 2, 2], [0.1, 0.1, 0.01]),
    ({"patience": 0, "threshold": 0.5, "threshold_mode": "abs"}, [2, 1.6, 1], [0.1, 0.01, 0.01]),
    ({"patience": 0, "cooldown": 2}, [1, 1, 1, 1, 1], [0.1, 0.01, 0.01, 0.01, 0.001]),
    ({"patience": 0, "min_lr": 0.05}, [1, 1, 1], [0.1, 0.05, 0.05]),
]


@pytest.mark.parametrize("options, metrics, expected", PLATEAU)
def test_plateau(options, metrics, expected):
    scheduler = lr_scheduler.ReduceLROnPlateau(sgd(), **options)
    got = []
    for metric in metrics:
        scheduler.step(flambeau.tensor(float(metric)))
        got += scheduler.get_last_lr()
    assert got == pytest.approx(expected)


def test_a_group_that_came_later_is_refused():
    for make in (
        lambda o: lr_scheduler.LambdaLR(o, abs),
        lambda o: lr_scheduler.MultiplicativeLR(o, abs),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 5),
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.2, cycle_momentum=False),
    ):
        optimizer = sgd()
        scheduler = make(optimizer)
        optimizer.add_param_group({"params": [flambeau.zeros(1)]})
        optimizer.step()
        with pytest.raises(ValueError, match="rates for 1 parameter groups.*optimizer has 2"):
            scheduler.step()


def test_plateau_with_a_new_group():
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.0])
    optimizer.add_param_group({"params": [flambeau.zeros(1)]})
    scheduler.step(1.0)
    with pytest.raises(RuntimeError, match="modify the `min_lrs` field"):
        scheduler.step(1.0)


def test_order_of_calls_warns_once():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def swa_rate(start, t):
    alpha = (1 - math.cos(math.pi * min(1, t))) / 2
    return 0.5 * alpha + start * (1 - alpha)


def test_swalr():
    got = rates(swa_utils.SWALR(sgd(), 0.5, anneal_epochs=4), 6)
    assert got == pytest.approx([swa_rate(0.1, t / 4) for t in range(7)])


PLAIN = sgd(2)
ERRORS = [
    (lambda: lr_scheduler.StepLR(1, 2), TypeError, "int is not an Optimizer"),
    (lambda: lr_scheduler.LambdaLR(PLAIN, [abs]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda: lr_scheduler.ConstantLR(PLAIN, 2), ValueError, "between 0 and 1"),
    (lambda: lr_scheduler.LinearLR(PLAIN, 0), ValueError, "Starting multiplicative factor"),
    (lambda: lr_scheduler.LinearLR(PLAIN, 1, 2), ValueError, "Ending multiplicative factor"),
    (lambda: lr_scheduler.SequentialLR(PLAIN, [], []), ValueError, "at least one scheduler"),
    (
        lambda: lr_scheduler.SequentialLR(PLAIN, [lr_scheduler.StepLR(PLAIN, 1)], [1]),
        ValueError,
        "one more than the number of milestone points",
    ),
    (
        lambda: lr_scheduler.SequentialLR(PLAIN, [lr_scheduler.ReduceLROnPlateau(PLAIN)], []),
        ValueError,
        "does not support `ReduceLROnPlateau`",
    ),
    (
        lambda: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(PLAIN, 1)], sgd()),
        ValueError,
        "belong to the same optimizer",
    ),
    (lambda: lr_scheduler.ReduceLROnPlateau(PLAIN, "x"), ValueError, "mode x is unknown"),
    (lambda: lr_scheduler.ReduceLROnPlateau(PLAIN, factor=1.0), ValueError, "should be < 1.0"),
    (lambda: lr_scheduler.ReduceLROnPlateau(PLAIN, min_lr=[0]), ValueError, "expected 2 min_lrs"),
    (lambda: lr_scheduler.CyclicLR(PLAIN, 0.1, 1, mode="x"), ValueError, "mode is invalid"),
    (
        lambda: lr_scheduler.CyclicLR(optim.Rprop([flambeau.zeros(1)]), 0.1, 1),
        ValueError,
        "must support momentum or beta1",
    ),
    (lambda: lr_scheduler.OneCycleLR(PLAIN, 1), ValueError, "either total_steps OR"),
    (lambda: lr_scheduler.OneCycleLR(PLAIN, 1, 0), ValueError, "positive integer total_steps"),
    (lambda: lr_scheduler.OneCycleLR(PLAIN, 1, 9, pct_start=3), ValueError, "pct_start"),
    (lambda: lr_scheduler.OneCycleLR(PLAIN, [1], 9), ValueError, "must have the same length"),
    (
        lambda: lr_scheduler.CosineAnnealingWarmRestarts(PLAIN, 0),
        ValueError,
        "positive integer T_0",
    ),
    (
        lambda: rates(lr_scheduler.OneCycleLR(sgd(momentum=0.9), 1, 2), 3),
        ValueError,
        "Tried to step 3 times",
    ),
    (lambda: swa_utils.SWALR(PLAIN, 1, anneal_epochs=-1), ValueError, "anneal_epochs"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
