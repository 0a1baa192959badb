"""The step over all parameters in one call equals the step with operators, whatever the tensors."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau import optim

RULES = [
    (optim.SGD, {}),
    (optim.SGD, {"momentum": 0.9, "dampening": 0.25, "weight_decay": 0.125}),
    (optim.SGD, {"momentum": 0.875, "nesterov": True}),
    (optim.Adam, {"weight_decay": 0.125}),
    (optim.Adam, {"amsgrad": True, "betas": (0.4, 0.6)}),
    (optim.AdamW, {}),
    (optim.Adamax, {"weight_decay": 0.125}),
    (optim.NAdam, {"weight_decay": 0.125}),
    (optim.NAdam, {"weight_decay": 0.125, "decoupled_weight_decay": True}),
    (optim.RAdam, {"betas": (0.5, 0.6)}),
    (optim.RAdam, {"weight_decay": 0.125, "decoupled_weight_decay": True}),
    (optim.Adadelta, {"weight_decay": 0.125}),
    (optim.Adagrad, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    (optim.ASGD, {"t0": 2, "lambd": 0.1}),
    (optim.RMSprop, {}),
    (optim.RMSprop, {"centered": True}),
    (optim.RMSprop, {"momentum": 0.5, "weight_decay": 0.125}),
    (optim.RMSprop, {"centered": True, "momentum": 0.5}),
    (optim.Rprop, {"step_sizes": (1e-3, 0.05)}),
]
FUSED = (optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad)
DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]


def name_of(value):
    return value.__name__ if isinstance(value, type) else "-".join(map(str, value)) or "plain"


def fixed(shape, start, dtype):
    """Fixed numbers in (-1, 1)."""
    x = (flambeau.arange(math.prod(shape), dtype=flambeau.float64) * 1.7 + start).sin()
    if dtype.is_complex:
        x = flambeau.complex(x, (3 * x).cos())
    return x.reshape(shape).to(dtype)


def layouts(start, dtype):
    """A tensor of each kind of layout."""
    return [
        fixed((2, 3), start, dtype),
        fixed((), start + 1, dtype),
        fixed((0, 2), start, dtype),
        fixed((5, 4), start + 2, dtype).t(),
        fixed((3, 8), start + 3, dtype)[:, ::2],
        fixed((40, 600), start + 4, dtype),
    ]


def trajectory(cls, options, dtype, steps=4):
    params = [p.requires_grad_() for p in layouts(0.3, dtype)]
    optimizer = cls(params, lr=2**-7, **options)
    for step in range(steps):
        for i, p in enumerate(params):
            grad = fixed(tuple(reversed(p.shape)), 0.7 * step + i, dtype)
            p.grad = grad.permute(*reversed(range(grad.ndim)))
        optimizer.step()
    state = [value for p in params for value in optimizer.state[p].values()]
    return [p.detach() for p in params], state


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("cls, options", RULES, ids=name_of)
def test_equals_the_step_with_operators(cls, options, maximize, monkeypatch):
    for dtype in (getattr(flambeau, name) for name in DTYPES):
        got = trajectory(cls, {**options, "maximize": maximize}, dtype)
        with monkeypatch.context() as patch:
            patch.setattr(cls, "_uses_operators", lambda self, group: True)
            expected = trajectory(cls, {**options, "maximize": maximize}, dtype)
        # The numbers that add() multiplies with are exact in 16 bits here, but for ASGD's.
        digits = {"rtol": 1e-2, "atol": 1e-2} if dtype.itemsize == 2 else {}
        flambeau.testing.assert_close(got, expected, equal_nan=True, **digits)


@pytest.mark.parametrize("cls", FUSED, ids=name_of)
def test_fused_rounds_halves_once(cls):
    for dtype in (flambeau.float16, flambeau.bfloat16):
        start = fixed((500,), 0.0, dtype)
        results = {}
        for key, options in (("fused", {"fused": True}), ("wide", {})):
            p = start.clone() if key == "fused" else start.float()
            p.requires_grad_()
            optimizer = cls([p], lr=0.1, **options)
            p.grad = fixed((500,), 2.0, dtype).to(p.dtype)
            optimizer.step()
            results[key] = p.detach()
        assert results["fused"].equal(results["wide"].to(dtype))


PRINT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_dense import *
for cls, options in RULES:
    for name in ("float32", "bfloat16", "complex128"):
        for t in sum(trajectory(cls, options, getattr(flambeau, name)), [])[:40]:
            t = flambeau.view_as_real(t.contiguous()) if t.is_complex() else t.float()
            print(cls.__name__, name, hash(tuple(t.reshape(-1).tolist())))
"""


def test_same_bits_on_every_instruction_set():
    folder = str(Path(__file__).parent)
    texts = set()
    for target in ("baseline", "avx2", "avx512"):
        env = {**os.environ, "FLAMBEAU_CPU": target}
        command = [sys.executable, "-c", PRINT, folder]
        texts.add(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    assert len(texts) == 1


def test_versions_move_on():
    p = fixed((3,), 0.0, flambeau.float32).requires_grad_()
    p.grad = flambeau.ones(3)
    optimizer = optim.Adam([p])
    optimizer.step()
    average = optimizer.state[p]["exp_avg"]
    versions = p._version, average._version
    optimizer.step()
    assert (p._version, average._version) > versions
    assert p.grad._version == 0
    q = (p * p).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*_adam_step_"):
        q.backward()


def test_a_parameter_given_twice_moves_twice():
    p = flambeau.ones(20000).requires_grad_()
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = optim.SGD([p, p], lr=0.25)
    p.grad = flambeau.ones(20000)
    optimizer.step()
    assert p.unique().tolist() == [0.5]


def test_state_of_another_dtype_or_a_subclass_takes_the_operators():
    p = flambeau.ones(3).requires_grad_()
    optimizer = optim.SGD([p], lr=0.5, momentum=0.5)
    p.grad = flambeau.ones(3)
    optimizer.step()
    optimizer.state[p]["momentum_buffer"] = optimizer.state[p]["momentum_buffer"].double()
    optimizer.step()
    assert p.tolist() == [-0.25] * 3

    class Mine(flambeau.Tensor):
        pass

    q = flambeau.ones(3).as_subclass(Mine).requires_grad_()
    q.grad = flambeau.ones(3)
    optim.Adam([q], lr=0.5).step()
    assert q.detach().tolist() == pytest.approx([0.5] * 3)


def test_groups_of_mixed_dtypes():
    params = [flambeau.ones(3, dtype=getattr(flambeau, name)).requires_grad_() for name in DTYPES]
    for p in params:
        p.grad = flambeau.ones_like(p)
    optim.SGD(params, lr=0.5).step()
    assert all(p.tolist() == [0.5] * 3 for p in params)


def test_a_changed_state_or_list_is_seen():
    p, q = flambeau.ones(2).requires_grad_(), flambeau.ones(2).requires_grad_()
    optimizer = optim.Adam([p], lr=0.1)
    p.grad, q.grad = flambeau.ones(2), flambeau.ones(2)
    optimizer.step()
    optimizer.param_groups[0]["params"].append(q)
    optimizer.step()
    assert optimizer.state[q]["step"].item() == 1 and optimizer.state[p]["step"].item() == 2
    optimizer.state.clear()
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 1
    optimizer.param_groups[0]["params"] = (q,)
    optimizer.step()
    assert optimizer.state[q]["step"].item() == 2


def test_expanded_parameter_is_refused_before_anything_moves():
    p = flambeau.ones(1).expand(3).requires_grad_()
    p.grad = flambeau.ones(3)
    optimizer = optim.Adagrad([p])
    with pytest.raises(RuntimeError, match="single memory location"):
        optimizer.step()
    assert optimizer.state[p]["step"].item() == 0


def test_missing_state_names_the_key():
    p = flambeau.ones(2).requires_grad_()
    p.grad = flambeau.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(KeyError, match="max_exp_avg_sq"):
        optimizer.step()


@pytest.mark.parametrize("cls", FUSED, ids=name_of)
def test_scaler_of_a_fused_step(cls):
    p = flambeau.ones(2).requires_grad_()
    optimizer = cls([p], lr=0.5, fused=True)
    assert optimizer._step_supports_amp_scaling
    p.grad = flambeau.full((2,), 4.0)
    optimizer.grad_scale, optimizer.found_inf = flambeau.tensor(2.0), flambeau.tensor(1.0)
    optimizer.step()
    assert p.tolist() == [1.0, 1.0] and p.grad.tolist() == [4.0, 4.0]
    optimizer.found_inf = flambeau.tensor(0.0)
    optimizer.step()
    assert p.grad.tolist() == [2.0, 2.0] and p.tolist() < [1.0, 1.0]
    optimizer = cls([p], lr=0.5)
    optimizer.found_inf = flambeau.tensor(0.0)
    with pytest.raises(AssertionError, match="grad_scale and found_inf"):
        optimizer.step()


class Sparse(flambeau.Tensor):
    """What the optimizers ask of a sparse gradient."""

    layout = "sparse"


def test_sparse_gradients_are_refused_before_anything_moves():
    class Derived(optim.AdamW):
        pass

    names = {Derived: "Adam", optim.AdamW: "Adam", optim.Adam: "Adam"}
    names |= {cls: cls.__name__ for cls, _ in RULES if cls not in names}
    for cls, name in names.items():
        if cls in (optim.SGD, optim.Adagrad):  # they take them
            continue
        p, q = flambeau.ones(2).requires_grad_(), flambeau.ones(2).requires_grad_()
        optimizer = cls([p, q])
        p.grad, q.grad = flambeau.ones(2), flambeau.ones(2).as_subclass(Sparse)
        hint = ", please consider SparseAdam instead" if name == "Adam" else ""
        with pytest.raises(RuntimeError, match=f"^{name} does not support sparse gradients{hint}$"):
            optimizer.step()
        assert p.tolist() == [1.0, 1.0] and len(optimizer.state) == 0


FLAGS = [
    ({"capturable": True}, AssertionError, "supported devices"),
    ({"foreach": True, "differentiable": True}, AssertionError, "don't support autograd"),
    ({"differentiable": True}, RuntimeError, "leaf"),
]


@pytest.mark.parametrize("options, error, message", FLAGS, ids=str)
def test_flags_that_a_step_cannot_serve(options, error, message):
    for cls in (optim.Adam, optim.NAdam, optim.ASGD, optim.Rprop):
        p = flambeau.ones(2).requires_grad_()
        p.grad = flambeau.ones(2)
        with pytest.raises(error, match=message):
            cls([p], **options).step()


def test_fused_needs_real_parameters():
    for cls in FUSED:
        p = flambeau.ones(2, dtype=flambeau.complex64).requires_grad_()
        p.grad = flambeau.ones_like(p)
        with pytest.raises(RuntimeError, match="requires all the params to be floating point"):
            cls([p], fused=True).step()


KERNEL_ERRORS = [
    (([1.0], [[1.0, 2.0]]), "_adagrad_step_: grads.0. has shape"),
    (([1.0], []), "_adagrad_step_: 1 params but 0 grads"),
    (([1], [1]), "_adagrad_step_: params.0. has dtype torch.int64, expected a floating"),
]


@pytest.mark.parametrize("lists, message", KERNEL_ERRORS)
def test_kernel_checks_its_lists(lists, message):
    params, grads = ([flambeau.tensor(x) for x in values] for values in lists)
    sums = [flambeau.zeros_like(p) for p in params]
    steps = [flambeau.tensor(0.0) for p in params]
    with pytest.raises(RuntimeError, match=message):
        flambeau._C.ops._adagrad_step_(
            params, grads, sums, steps, 0.1, 0.0, 1e-10, 0.0, False, False
        )
    with pytest.raises(RuntimeError, match="steps.0. must be one float32 or float64 number"):
        p = [flambeau.ones(1)]
        flambeau._C.ops._adagrad_step_(
            p, p, p, [flambeau.tensor(1)], 0.1, 0.0, 1e-10, 0.0, False, False
        )


def test_a_rule_without_its_state_is_refused():
    ops, p, step = flambeau._C.ops, [flambeau.ones(1)], [flambeau.ones(1)]
    with pytest.raises(RuntimeError, match="1 params but 0 prevs"):
        ops._rprop_step_(p, p, [], p, step, 0.5, 1.2, 1e-6, 50.0, False)
    with pytest.raises(RuntimeError, match="1 params but 0 momentum_buffers"):
        ops._sgd_step_(p, p, [], 0.1, 0.9, 0.0, 0.0, False, False, True, False)
