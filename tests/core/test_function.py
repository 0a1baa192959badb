"""autograd.Function: forward and backward written by the user."""

from __future__ import annotations

import gc
import weakref

import pytest

import flambeau
from flambeau.autograd import Function, grad, gradcheck, gradgradcheck


def leaf(values=(1.0, 2.0, 3.0)):
    return flambeau.tensor(list(values), requires_grad=True)


def define(forward, backward, name="Custom"):
    return type(
        name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


def test_forward_and_backward():
    x = leaf()
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward" and y.tolist() == [1.0, 4.0, 9.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_numeric_checks():
    x = flambeau.tensor([0.3, -2.0], dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(Square.apply, (x,)) and gradgradcheck(Square.apply, (x,))


def test_saved_tensors_are_freed_and_checked():
    x = leaf()
    y = Square.apply(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()
    z = leaf() * 1
    y = Square.apply(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_no_history_without_gradients():
    assert Square.apply(flambeau.ones(2)).grad_fn is None
    with flambeau.no_grad():
        assert not Square.apply(leaf()).requires_grad


def test_needs_input_grad_and_other_arguments():
    seen = []

    def forward(ctx, a, factor, b, *, shift=0.0):
        seen.append(ctx.needs_input_grad)
        ctx.factor = factor
        return a * factor + b + shift

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g * ctx.factor, None, None

    x = leaf()
    y = define(forward, backward).apply(x, 3.0, flambeau.ones(3))
    y.sum().backward()
    assert seen == [(True, False, False)] * 2 and x.grad.tolist() == [3.0] * 3


def test_several_outputs():
    def forward(ctx, x):
        return x * 2, x * 3, 7

    def backward(ctx, a, b, c):
        assert c is None
        return 2 * a + 3 * b

    make = define(forward, backward)
    x = leaf()
    a, b, n = make.apply(x)
    assert n == 7 and (a.output_nr, b.output_nr) == (0, 1)
    (a + 10 * b).sum().backward()
    assert x.grad.tolist() == [32.0] * 3
    x.grad = None
    make.apply(x)[1].sum().backward()  # the gradient of the other output arrives as zeros
    assert x.grad.tolist() == [3.0] * 3


def test_gradients_that_did_not_arrive_may_stay_none():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, a, b):
        seen.append((a is None, b is None))
        return b * 3

    define(forward, backward).apply(leaf())[1].sum().backward()
    assert seen == [(True, False)]


def test_non_differentiable_outputs():
    def forward(ctx, x):
        index = x.argmax() if hasattr(x, "argmax") else flambeau.zeros(())
        mask = x * 0
        ctx.mark_non_differentiable(mask)
        return x * 2, mask, index

    x = leaf()
    y, mask, _ = define(forward, lambda ctx, g, *rest: g * 2).apply(x)
    assert y.requires_grad and not mask.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_mark_dirty():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    double = define(forward, lambda ctx, g: g * 2, "Double")
    x = leaf()
    y = x * 1
    version = y._version
    z = double.apply(y)
    assert z is y and y.grad_fn.name() == "DoubleBackward" and y._version > version
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        double.apply(leaf())


def test_an_input_returned_unchanged():
    x = leaf()
    y = define(lambda ctx, t: t, lambda ctx, g: g * 5).apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3


@pytest.mark.parametrize(
    "backward, kind, text",
    [
        (
            lambda ctx, g: g,
            RuntimeError,
            r"returned an incorrect number of gradients \(expected 2, got 1\)",
        ),
        (lambda ctx, g: (g, g, g), RuntimeError, "returned an incorrect number of gradients"),
        (lambda ctx, g: (flambeau.ones(7), None), RuntimeError, "returned an invalid gradient"),
        (lambda ctx, g: (3, None), RuntimeError, "expected Tensor or None|expected Variable"),
    ],
)
def test_wrong_gradients(backward, kind, text):
    with pytest.raises(kind, match=text):
        define(lambda ctx, a, b: a * b, backward).apply(leaf(), leaf()).sum().backward()


def test_trailing_nones_are_accepted():
    x = leaf()
    define(lambda ctx, a: a * 1, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_none_stops_the_gradient():
    x, w = leaf(), leaf()
    define(lambda ctx, a, b: a * b, lambda ctx, g: (None, g)).apply(x, w).sum().backward()
    assert x.grad is None and w.grad.tolist() == [1.0] * 3


def test_missing_parts():
    only_forward = type("OnlyForward", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    y = only_forward.apply(leaf())
    with pytest.raises(NotImplementedError, match="backward"):
        y.sum().backward()
    with pytest.raises(NotImplementedError, match="forward"):
        type("Nothing", (Function,), {}).apply(leaf())
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        define(lambda ctx, x: (ctx.save_for_backward(3), x * 2)[1], lambda ctx, g: g).apply(leaf())


def test_setup_context():
    class Scaled(Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.factor = inputs
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0].shape == g.shape
            return g * ctx.factor, None

    x = leaf()
    Scaled.apply(x, 4.0).sum().backward()
    assert x.grad.tolist() == [4.0] * 3


def test_saved_results_keep_their_history():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = flambeau.tensor([0.5, 1.0], dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(Exp.apply, (x,)) and gradgradcheck(Exp.apply, (x,))


def test_errors_propagate():
    class Custom(Exception):
        pass

    def fail(ctx, g):
        raise Custom

    y = define(lambda ctx, x: x * 1, fail).apply(leaf())
    with pytest.raises(Custom):
        y.sum().backward()


def test_backward_runs_without_history_unless_asked():
    seen = []

    def backward(ctx, g):
        seen.append(flambeau.is_grad_enabled())
        return g * 2

    f = define(lambda ctx, x: x * 2, backward)
    x = leaf()
    f.apply(x).sum().backward()
    grad(f.apply(x).sum(), x, create_graph=True)
    assert seen == [False, True]


def test_nothing_leaks():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        y = x.mul_(2)
        mask = y * 0
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(y)
        return y, mask

    f = define(forward, lambda ctx, g, _: g * ctx.saved_tensors[0])
    y = leaf() * 1
    z, mask = f.apply(y)
    alive = [weakref.ref(t) for t in (y, z, mask)]
    del y, z, mask
    gc.collect()
    assert [r() for r in alive] == [None] * 3


def test_nested_backward():
    def backward(ctx, g):
        with flambeau.enable_grad():
            inner = leaf([2.0])
            (inner**3).sum().backward()
        return g * inner.grad

    x = leaf()
    define(lambda ctx, t: t * 1, backward).apply(x).sum().backward()
    assert x.grad.tolist() == [12.0] * 3
