"""Transforms beyond numbers: errors, printing, saved versions, memory, custom functions."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
from test_table import DTYPES, OPS, STABLE, Call, differentiable, tensors

import flambeau as t
from flambeau import func
from flambeau.autograd import Function, forward_ad, gradcheck


def batch(f, *shape):
    return t.vmap(lambda x: (f(x), x)[1])(t.ones(shape or (3, 2)))


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda x: x.sum().item(), "calling .item\\(\\) on a Tensor"),
        (lambda x: 1 if x.sum() > 0 else 2, "data-dependent control flow"),
        (lambda x: float(x.sum()), "calling .item"),
        (lambda x: x.tolist(), "tolist: a tensor inside vmap"),
        (lambda x: x.numpy(), "Cannot access data pointer"),
        (lambda x: x.data_ptr(), "Cannot access data pointer"),
        (lambda x: x[x > 0], "depends on values"),
        (lambda x: t.equal(x, x), "depends on values"),
        (lambda x: t.unique(x), "depends on values"),
        (lambda x: t.zeros(2).add_(x), "vmap: aten::add_\\(self, \\*extra_args\\) is not possible"),
        (lambda x: x.sum().requires_grad_(), "call Tensor.requires_grad_\\(\\) inside a function"),
        (lambda x: x.clone().resize_(10), "cannot change its size"),
        (lambda x: t.rand(2), "randomness error mode"),
        (
            lambda x: t.tensor_split(x, x.long()),
            "no single value to read|indices or sections to read",
        ),
    ],
)
def test_vmap_refuses(f, message):
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        batch(f)


def test_grad_refuses_to_change_what_it_did_not_make():
    kept = t.zeros(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        func.grad(lambda x: kept.add_(x).sum())(t.ones(2))
    assert kept.tolist() == [0, 0]


def test_values_are_read_where_there_is_one():
    def f(x):
        assert x.tolist() == [1, 1] and float(x.sum()) == 2 and bool((x > 0).all())
        return (x * (3 if x[0] > 0 else 5)).sum()

    assert func.grad(f)(t.ones(2)).tolist() == [3, 3]
    assert func.jvp(f, (t.ones(2),), (t.ones(2),))[1].item() == 6


@pytest.mark.parametrize(
    "dims, args, message",
    [
        (2, (3,), "expected in_dim to satisfy"),
        ((0, 0), (3,), "not compatible with the structure of `inputs`"),
        (None, (3,), "to be int or a"),
        ((None,), (3,), "nothing to map over"),
    ],
)
def test_in_dims_are_checked(dims, args, message):
    with pytest.raises(ValueError, match=message):
        t.vmap(t.sin, dims)(t.ones(args))
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        t.vmap(t.add)(t.ones(2), t.ones(3))


def test_text():
    seen = []
    t.vmap(func.grad(lambda x: (seen.append(repr(x)), x.sum())[1]))(t.ones(2, 1))
    assert seen == [
        "GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n"
        "        tensor([[1.],\n                [1.]])\n    )\n)"
    ]
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(t.ones(1), t.zeros(1))
        assert repr(dual) == "tensor([1.], tangent=tensor([0.]))"


def test_a_saved_tensor_notices_changes_through_a_view():
    def f(x):
        y = x * 1
        z = y.sin()
        y[0] = 5.0
        return z.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        func.grad(f)(t.ones(2))


def test_results_have_no_history_but_that_outside():
    w = t.ones(2, requires_grad=True)
    plain, outer = (
        func.grad(lambda x: (x**2).sum())(w.detach()),
        func.grad(lambda x: (x * w).sum())(w),
    )
    assert not plain.requires_grad and outer.requires_grad
    with t.no_grad():
        assert not func.grad(lambda x: (x * w).sum())(w).requires_grad


def test_no_memory_is_kept():
    model = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Tanh())
    params = {k: v.detach() for k, v in model.named_parameters()}

    def run():
        t.vmap(func.grad(lambda p, x: func.functional_call(model, p, (x,)).sum()), (None, 0))(
            params, t.ones(4, 3)
        )
        func.hessian(lambda x: model(x).sum())(t.ones(3))
        func.jvp(model, (t.ones(3),), (t.ones(3),))
        gc.collect()
        return t._C._memory_stats()["allocated_bytes.all.current"]

    run()
    assert run() == run()


CRASHES = """
import flambeau as t
def seen(f):
    for run in (
        lambda: t.vmap(lambda x: (f(x), x)[1])(t.ones(3, 2)),
        lambda: t.func.grad(lambda x: (f(x), x.sum())[1])(t.ones(2)),
        lambda: t.func.jvp(lambda x: (f(x), x)[1], (t.ones(2),), (t.ones(2),)),
    ):
        try: run()
        except Exception: pass
for f in (
    lambda x: x.untyped_storage(), lambda x: t.from_dlpack(x), lambda x: memoryview(x),
    lambda x: x.set_(t.ones(2)), lambda x: t.ones(2).set_(x),
    lambda x: setattr(x, "data", t.ones(2)),
    lambda x: setattr(t.ones(2), "data", x), lambda x: x.share_memory_(),
    lambda x: t.segment_reduce(x, "sum", lengths=(x * 0 + 1).long()),
    lambda x: t.repeat_interleave(x, (x * 0 + 1).long()), lambda x: t.nn.Parameter(x),
    lambda x: t.nn.functional.embedding_bag((x * 0).long(), t.ones(3, 2), (x * 0).long()[:1]),
    lambda x: t.add(x, x, out=t.empty(2)), lambda x: t.bincount((x * 0).long()),
    lambda x: x.apply_(lambda v: v), lambda x: t.combinations(x), lambda x: x.detach_(),
):
    seen(f)
print("alive")
"""


def test_nothing_crashes():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CRASHES], capture_output=True, text=True
    )
    assert done.stdout == "alive\n", done.stderr[-2000:]


class Double(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Both(Double):
    generate_vmap_rule = True

    @staticmethod
    def vmap(info, in_dims, x):
        return x * 2, in_dims[0]


class Old(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


@pytest.mark.parametrize(
    "cls, run, error, message",
    [
        (Double, t.vmap, RuntimeError, "does not have vmap support"),
        (Both, t.vmap, RuntimeError, "both generate_vmap_rule=True"),
        (Old, t.vmap, RuntimeError, "must override the setup_context"),
        (
            Double,
            lambda f: lambda x: func.jvp(f, (x,), (x,)),
            NotImplementedError,
            "the jvp function",
        ),
    ],
)
def test_functions_say_what_they_lack(cls, run, error, message):
    with pytest.raises(error, match=message):
        run(cls.apply)(t.ones(3))


def test_a_function_marks_what_it_changed():
    class Twice(Double):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

    def f(x):
        y = x * 1
        Twice.apply(y)
        return y.sum()

    assert func.grad(f)(t.ones(2)).tolist() == [2, 2]
    assert t.vmap(f)(t.ones(3, 2)).tolist() == [4, 4, 4]


COMPLEX = [
    n
    for n in STABLE
    if differentiable(OPS[n]) and OPS[n].kernel.kind == "pointwise" and "c" in OPS[n].on
]
assert "complex64" in DTYPES


@pytest.mark.parametrize("name", COMPLEX)
def test_forward_mode_of_complex_numbers(name):
    op = OPS[name]
    for index in range(len(op.samples)):
        call = Call(op, index, "complex128")
        leaves = [x for x in call.tensors if x.is_complex() and x.numel()]
        kept = [x for x in tensors(call()) if x.is_floating_point() or x.is_complex()]
        if not leaves or not kept or len(leaves) < len(call.tensors):
            continue
        for x in leaves:
            x.requires_grad_()

        def function(*values, call=call):
            given = iter(values)
            out = call.each(lambda x: next(given) if x.is_complex() else x)()
            return tuple(x for x in tensors(out) if x.is_floating_point() or x.is_complex())

        assert gradcheck(function, tuple(leaves), check_forward_ad=True, check_backward_ad=False)
