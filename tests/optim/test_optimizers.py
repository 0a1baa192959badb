"""Optimizers: trajectories against stored numbers, state, saving, hooks, errors."""

import copy
import json
import math
import pickle
from pathlib import Path

import pytest

import flambeau
from flambeau import optim

DATA = Path(__file__).parent / "data" / "trajectories.json"
RUNS = json.loads(DATA.read_text())["runs"]
MARKS = (1, 4, 15)

SHAPES = [(2, 3), (4,), ()]


def values(count, start):
    """Fixed numbers in (-1, 1)."""
    return [math.sin(1.7 * i + start) for i in range(count)]


def make_tensors(lib, start, dtype):
    tensors = []
    for i, shape in enumerate(SHAPES):
        count = math.prod(shape)
        flat = lib.tensor(values(count, start + i), dtype=dtype)
        tensors.append(flat.reshape(shape))
    return tensors


class Problem:
    """sum(c * w^2 / 2 - d * w) over three tensors w, with c in (0.5, 2.5)."""

    def __init__(self, lib, dtype):
        self.params = [w.requires_grad_() for w in make_tensors(lib, 0.3, dtype)]
        self.c = [1.5 + c for c in make_tensors(lib, 1.1, dtype)]
        self.d = make_tensors(lib, 2.9, dtype)

    def set_gradients(self):
        loss = 0.0
        for p, c, d in zip(self.params, self.c, self.d):
            w = p.detach()
            p.grad = c * w - d
            loss = loss + (c * w * w / 2 - d * w).sum()
        return loss

    def row(self):
        return [x for p in self.params for x in p.detach().reshape(-1).tolist()]


def run(lib, name, options, dtype, marks):
    """Parameters after the steps in `marks`."""
    problem = Problem(lib, dtype)
    params = problem.params[:1] if name == "Muon" else problem.params
    optimizer = getattr(lib.optim, name)(params, **options)
    rows = []
    for step in range(1, marks[-1] + 1):
        if name == "LBFGS":
            optimizer.step(problem.set_gradients)
        else:
            problem.set_gradients()
            optimizer.step()
        if step in marks:
            rows.append(problem.row())
    return rows


def close(got, expected, rtol, atol):
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert len(g) == len(e)
        assert all(abs(a - b) <= atol + rtol * abs(b) for a, b in zip(g, e)), (g, e)


def label(run):
    return run["name"] + "".join(f"-{k}" for k in run["options"])


@pytest.mark.parametrize("run_", RUNS, ids=label)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trajectory(run_, dtype):
    if dtype == "float32" and run_["name"] == "LBFGS" and "line_search_fn" in run_["options"]:
        # a line search branches on comparisons: one rounding moves the whole path; float64 is exact
        dtype = "float64"
    got = run(flambeau, run_["name"], run_["options"], getattr(flambeau, dtype), MARKS)
    # Muon iterates in bfloat16 in either dtype.
    rtol, atol = (1e-2, 2e-3) if run_["name"] == "Muon" else (2e-6, 2e-6)
    if dtype == "float64" and run_["name"] not in ("Muon", "ASGD", "NAdam"):
        rtol, atol = 1e-9, 1e-9
    close(got, run_[dtype], rtol, atol)


ALL = [
    optim.SGD,
    optim.Adam,
    optim.AdamW,
    optim.Adamax,
    optim.NAdam,
    optim.RAdam,
    optim.Adadelta,
    optim.Adagrad,
    optim.RMSprop,
    optim.Rprop,
    optim.ASGD,
    optim.Adafactor,
]
STATE = {
    "SGD": [],
    "Adam": ["step", "exp_avg", "exp_avg_sq"],
    "AdamW": ["step", "exp_avg", "exp_avg_sq"],
    "Adamax": ["step", "exp_avg", "exp_inf"],
    "NAdam": ["step", "mu_product", "exp_avg", "exp_avg_sq"],
    "RAdam": ["step", "exp_avg", "exp_avg_sq"],
    "Adadelta": ["step", "square_avg", "acc_delta"],
    "Adagrad": ["step", "sum"],
    "RMSprop": ["step", "square_avg"],
    "Rprop": ["step", "prev", "step_size"],
    "ASGD": ["step", "eta", "mu", "ax"],
    "Adafactor": ["step", "variance"],
}


def leaf(*data, dtype=flambeau.float32):
    return flambeau.tensor(list(data), dtype=dtype).requires_grad_()


def stepped(cls, **options):
    p = leaf(1.0, -2.0)
    p.grad = flambeau.tensor([0.5, 0.25])
    optimizer = cls([p], **options)
    optimizer.step()
    return p, optimizer


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_state_keys_and_packing(cls):
    _, optimizer = stepped(cls)
    saved = optimizer.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert saved["param_groups"][0]["params"] == [0]
    assert list(saved["state"].get(0, {})) == STATE[cls.__name__]
    step = saved["state"].get(0, {}).get("step")
    if step is not None:
        assert step.dtype is flambeau.float32 and step.shape == () and step.item() == 1


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_resume_continues_exactly(cls):
    first, second = Problem(flambeau, flambeau.float32), Problem(flambeau, flambeau.float32)
    optimizer = cls(first.params)
    for _ in range(3):
        first.set_gradients()
        optimizer.step()
    for p, q in zip(first.params, second.params):
        q.detach().copy_(p.detach())
    other = cls(second.params, lr=7.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for _ in range(2):
        for problem, opt in ((first, optimizer), (second, other)):
            problem.set_gradients()
            opt.step()
    assert first.row() == second.row()


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.__name__)
def test_tensor_lr_follows_in_place_changes(cls):
    lr = flambeau.tensor(0.125)
    problems = [Problem(flambeau, flambeau.float64) for _ in range(2)]
    plain, tensor = cls(problems[0].params, lr=0.125), cls(problems[1].params, lr=lr)
    for value in (0.125, 0.5):
        plain.param_groups[0]["lr"] = value
        lr.fill_(value)
        for problem, optimizer in zip(problems, (plain, tensor)):
            problem.set_gradients()
            optimizer.step()
    close([problems[1].row()], [problems[0].row()], 1e-6, 1e-6)


def test_differentiable_adam_and_sgd():
    for cls in (optim.SGD, optim.Adam, optim.AdamW, optim.Adamax):
        start = flambeau.tensor([0.5, -1.0], dtype=flambeau.float64, requires_grad=True)
        lr = flambeau.tensor(0.1, dtype=flambeau.float64, requires_grad=True)
        p = start.clone()
        optimizer = cls([p], lr=lr, differentiable=True)
        for _ in range(2):
            p.grad = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64)
            optimizer.step()
        p.sum().backward()
        assert lr.grad is not None and lr.grad.item() < 0
        assert start.grad.tolist() == pytest.approx([1.0, 1.0], abs=0.02)


DIFFERENTIABLE = [
    ("SGD", {"weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "betas": (0.5, 0.6)}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {"betas": (0.5, 0.6)}),
    ("Adadelta", {}),
    ("Adagrad", {}),
    ("ASGD", {"t0": 1}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
]


@pytest.mark.parametrize("name, options", DIFFERENTIABLE)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_recorded_steps_have_the_slopes_of_plain_ones(name, options, dtype):
    real, dtype = flambeau.float64, getattr(flambeau, dtype)
    start, x, direction = (flambeau.tensor(values(3, s), dtype=real) for s in (0.3, 1.1, 2.9))
    if dtype.is_complex:
        start, x, direction = ((1 + 2j) * t for t in (start, x, direction))

    def loss(x, lr, differentiable):
        p = start.clone().requires_grad_() * 1 if differentiable else start.clone()
        optimizer = getattr(optim, name)([p], lr=lr, differentiable=differentiable, **options)
        for step in range(5):
            p.grad = x * (1 + 0.3 * step) + 0.1 * step * x * x
            optimizer.step()
        return (p.abs() ** 2).sum()

    x, lr = x.requires_grad_(), flambeau.tensor(0.05, dtype=real, requires_grad=True)
    slope, lr_slope = flambeau.autograd.grad(loss(x, lr, True), (x, lr), allow_unused=True)
    h, rate = 1e-5, 0.05
    with flambeau.no_grad():
        ahead, behind = (loss(x + s * h * direction, rate, False) for s in (1, -1))
        faster, slower = (loss(x, rate + s * h, False) for s in (1, -1))
    along = (slope.conj() * direction).real.sum().item()
    assert along == pytest.approx(((ahead - behind) / (2 * h)).item(), rel=1e-4)
    if name != "ASGD":  # it holds the rate as a number
        assert lr_slope.item() == pytest.approx(((faster - slower) / (2 * h)).item(), rel=1e-4)


def test_parameters_without_gradient_are_left_alone():
    p, q = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([p, q], lr=0.5, momentum=0.5)
    p.grad = flambeau.ones(1)
    optimizer.step()
    assert (p.item(), q.item()) == (0.5, 1.0) and q not in optimizer.state
    q.grad = flambeau.ones(1)
    optimizer.step()
    assert (p.item(), q.item()) == (-0.25, 0.5)


def test_groups_have_their_own_options():
    p, q = leaf(1.0), leaf(1.0)
    optimizer = optim.SGD([{"params": p}, {"params": [q], "lr": 0.25}], lr=0.5)
    p.grad, q.grad = flambeau.ones(1), flambeau.ones(1)
    optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.75)


def test_zero_grad():
    p = leaf(1.0)
    p.grad = flambeau.ones(1)
    grad = p.grad
    optimizer = optim.SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_closure_runs_with_gradients_and_its_value_returns():
    p = leaf(2.0)
    optimizer = optim.Adam([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with flambeau.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert p.item() == pytest.approx(1.9, abs=1e-6)


def test_lbfgs_finds_the_minimum_of_rosenbrock():
    p = leaf(-1.2, 1.0, dtype=flambeau.float64)
    optimizer = optim.LBFGS([p], max_iter=30, tolerance_change=1e-16, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        x, y = p[0], p[1]
        loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert p.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)


def test_step_hooks_run_in_order_and_can_be_removed():
    calls = []
    _, optimizer = stepped(optim.SGD)
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post")),
    ]
    optimizer.step()
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert calls == ["pre", "post"]


def test_pre_hook_may_replace_arguments_and_must_return_a_pair():
    _, optimizer = stepped(optim.SGD)
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 3.0), {}))
    assert optimizer.step() == 3.0
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 1)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_state_dict_hooks():
    _, optimizer = stepped(optim.Adam)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(state["extra"]))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("done"))
    seen = []
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == [1, "done"]


def test_load_casts_state_to_the_parameter_but_not_the_step():
    _, optimizer = stepped(optim.Adam)
    q = leaf(1.0, 2.0, dtype=flambeau.float64)
    other = optim.Adam([q])
    other.load_state_dict(optimizer.state_dict())
    state = other.state[q]
    assert state["exp_avg"].dtype is flambeau.float64
    assert state["step"].dtype is flambeau.float32


def test_names_repr_pickle():
    p = leaf(1.0)
    optimizer = optim.SGD([("w", p)], lr=0.5)
    assert optimizer.param_groups[0]["param_names"] == ["w"]
    assert list(optimizer.state_dict()["param_groups"][0])[0] == "param_names"
    assert repr(optimizer).startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    twin = pickle.loads(pickle.dumps(optimizer))
    assert twin.param_groups[0]["lr"] == 0.5
    twin.param_groups[0]["params"][0].grad = flambeau.ones(1)
    twin.step()
    assert twin.param_groups[0]["params"][0].item() == 0.5


def test_swap_in_puts_everything_back():
    p, optimizer = stepped(optim.SGD, lr=1.0, momentum=0.5)
    q = leaf(0.0, 0.0)
    q.grad = flambeau.ones(2)
    saved = copy.deepcopy(optimizer.state_dict())
    before = p.tolist()
    with optim.swap_in_optimizer_params_and_state(optimizer, [q], saved):
        optimizer.step()
    assert q.tolist() == [-1.25, -1.125] and p.tolist() == before
    assert optimizer.param_groups[0]["params"][0] is p


def two_groups(*groups):
    return [{"params": g} for g in groups]


P, Q = leaf(1.0), leaf(2.0)
ERRORS = [
    (lambda: optim.SGD(P), TypeError, "should be an iterable of Tensors"),
    (lambda: optim.SGD([]), ValueError, "empty parameter list"),
    (lambda: optim.SGD([1]), TypeError, "can only optimize Tensors, but one of the params is int"),
    (lambda: optim.SGD([P * 2]), ValueError, "can't optimize a non-leaf Tensor"),
    (lambda: optim.SGD(two_groups([P], [P])), ValueError, "more than one parameter group"),
    (lambda: optim.SGD([{"params": {P}}]), TypeError, "ordered collections"),
    (lambda: optim.SGD([{"params": P}, 3]), TypeError, "param_group must be a dict"),
    (lambda: optim.SGD([("a", P), Q]), ValueError, "Some param names are missing"),
    (lambda: optim.SGD(two_groups([("a", P)], [Q])), ValueError, "with/without names"),
    (lambda: optim.SGD([P], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: optim.SGD([P], momentum=-1), ValueError, "Invalid momentum value"),
    (lambda: optim.SGD([P], nesterov=True), ValueError, "Nesterov momentum requires"),
    (lambda: optim.SGD([P], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
    (lambda: optim.SGD([P], lr=flambeau.ones(2)), ValueError, "Tensor lr must be 1-element"),
    (lambda: optim.Adam([P], betas=(0.5, 1)), ValueError, "beta parameter at index 1"),
    (lambda: optim.Adam([P], eps=-1), ValueError, "Invalid epsilon value"),
    (lambda: optim.Adam([P], weight_decay=-1), ValueError, "Invalid weight_decay value"),
    (lambda: stepped(optim.Adam, capturable=True), AssertionError, "If capturable=True"),
    (lambda: optim.Rprop([P], etas=(1.5, 1.2)), ValueError, "Invalid eta values"),
    (lambda: optim.Adadelta([P], rho=2), ValueError, "Invalid rho value"),
    (lambda: optim.Adafactor([P], d=0.1), ValueError, "Clipping threshold d"),
    (lambda: optim.Muon([P]), ValueError, "only supports 2D parameters"),
    (lambda: optim.LBFGS(two_groups([P], [Q])), ValueError, "per-parameter options"),
    (
        lambda: optim.SGD([P]).load_state_dict({"state": {}, "param_groups": []}),
        ValueError,
        "different number of parameter groups",
    ),
    (
        lambda: optim.SGD([P]).load_state_dict(optim.SGD([P, Q]).state_dict()),
        ValueError,
        "doesn't match the size of optimizer's group",
    ),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_duplicate_parameter_warns():
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([P, P])


def test_numbers_of_a_duplicate_parameter():
    p, q = leaf(1.0), leaf(2.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([p, p, q])
    assert optimizer.state_dict()["param_groups"][0]["params"] == [1, 1, 2]


def test_one_beta_is_too_few():
    for cls in (optim.Adam, optim.Adamax, optim.NAdam, optim.RAdam):
        with pytest.raises(IndexError):
            cls([leaf(1.0)], betas=(0.9,))
