"""autograd.Function in detail: outputs that are views or no tensors, dirty inputs, contexts."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau.autograd import Function, grad
from flambeau.autograd.function import NestedIOFunction, once_differentiable


def leaf(*values):
    return flambeau.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def define(forward, backward, **more):
    return type(
        "F",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)} | more,
    )


def test_outputs_that_are_no_tensors():
    x, seen = leaf(), []

    def back(ctx, *grads):
        seen.append(grads[1:])
        return grads[0] * 2

    out = define(lambda ctx, x: (x * 2, 5, None, "a"), back).apply(x)
    assert out[1:] == (5, None, "a")
    out[0].sum().backward()
    assert seen == [(None, None, None)] and x.grad.tolist() == [2.0, 2.0, 2.0]
    assert define(lambda ctx, x: 5, back).apply(x) == 5
    assert define(lambda ctx, x: None, back).apply(x) is None
    (one,) = define(lambda ctx, x: [x * 2], back).apply(x)  # a list is one value, not outputs
    assert not one.requires_grad
    (only,) = define(lambda ctx, x: (x * 2,), back).apply(x)
    assert only.requires_grad


def test_outputs_that_are_integers():
    x, seen = leaf(), []

    def back(ctx, g, h):
        seen.append(h)
        return g

    y, n = define(lambda ctx, x: (x * 2, x.long()), back).apply(x)
    assert not n.requires_grad and n.grad_fn is None
    y.sum().backward()
    assert seen[0].dtype is flambeau.int64 and seen[0].tolist() == [0, 0, 0]


def test_complex_outputs_and_gradients():
    x = leaf()
    f = define(lambda ctx, x: flambeau.complex(x, x), lambda ctx, g: g.real)
    assert flambeau.allclose(grad(f.apply(x).abs().sum(), x)[0], flambeau.full((3,), 0.5**0.5))
    wrong = define(lambda ctx, x: x * 2, lambda ctx, g: g * 1j)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 .*expected real numbers"):
        wrong.apply(x).sum().backward()
    c = flambeau.tensor([1 + 2j], requires_grad=True)
    (g,) = grad(define(lambda ctx, x: x * 2, lambda ctx, g: g * 1j).apply(c).real.sum(), c)
    assert g.tolist() == [1j]


WRONG = [
    (lambda g: g, r"incorrect number of gradients \(expected 2, got 1\)"),
    (lambda g: (g, None, g), r"incorrect number of gradients \(expected 2, got 3\)"),
    (lambda g: (g, g), "different than None at position 2, but the corresponding forward input"),
    (lambda g: (5, None), r"expected Variable or None \(got int\)"),
    (lambda g: [g], r"expected Variable or None|incorrect number"),
    (lambda g: (g[:2], None), r"invalid gradient at index 0 - got \[2\] but expected shape compat"),
    (lambda g: (flambeau.ones(3, device="meta"), None), "expected device cpu but got meta"),
]


@pytest.mark.parametrize(("back", "text"), WRONG)
def test_wrong_gradients(back, text):
    f = define(lambda ctx, x, y: x * 2, lambda ctx, g: back(g))
    with pytest.raises(RuntimeError, match=text):
        f.apply(leaf(), 3).sum().backward()


@pytest.mark.parametrize(
    "back",
    [
        lambda g: (g, None, None),
        lambda g: (flambeau.ones(2, 3), None),
        lambda g: (g.double(), None),
    ],
)
def test_gradients_that_fit(back):
    define(lambda ctx, x, y: x * 2, lambda ctx, g: back(g)).apply(leaf(), 3).sum().backward()


def test_needs_input_grad():
    seen = []
    f = define(
        lambda ctx, x, y, z: x * 2,
        lambda ctx, g: [seen.append(ctx.needs_input_grad), (g, None, None)][1],
    )
    f.apply(leaf(), flambeau.ones(3), 5).sum().backward()
    assert seen == [(True, False, False)]


# ---- what outputs share with inputs


def test_inputs_returned_as_they_are():
    a = leaf() * 1
    f = define(lambda ctx, x: x, lambda ctx, g: g * 10)
    b = f.apply(a)
    assert b is not a and b._is_view() and b._base is a and b.grad_fn.name() == "FBackward"
    with pytest.raises(RuntimeError, match="Output 0 of F is a view and is being modified inplace"):
        b.mul_(2)
    twice = define(lambda ctx, x: (x, x), lambda ctx, g, h: g + h).apply(a)
    assert twice[0] is not twice[1] and [t.output_nr for t in twice] == [0, 1]


def test_views_of_inputs():
    a = leaf() * 1
    b = define(lambda ctx, x: x[:2], lambda ctx, g: flambeau.cat([g, g[:1]])).apply(a)
    assert b._is_view() and b.grad_fn.name() == "FBackward"
    with pytest.raises(RuntimeError, match="view was created inside a custom Function"):
        b.mul_(2)
    b, c = define(lambda ctx, x: (x[:2], x[1:]), lambda ctx, g, h: None).apply(a)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        b.mul_(2)
    b = define(lambda ctx, x: x.view(3), lambda ctx, g: g).apply(a)
    a.mul_(2)
    with pytest.raises(RuntimeError, match="base or another view of its base has been modified"):
        _ = b.grad_fn


def dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def test_dirty_inputs():
    x = leaf()
    f = define(dirty, lambda ctx, g: g * 10)
    a = x * 1
    b = f.apply(a)
    assert b is a and a.grad_fn.name() == "FBackward" and a._version == 2
    assert grad(b.sum(), x)[0].tolist() == [10.0, 10.0, 10.0]
    base = x * 1
    part = base[:2]
    assert f.apply(part) is part
    assert part.grad_fn.name() == "AsStridedBackward0"
    assert grad(base.sum(), x)[0].tolist() == [10.0, 10.0, 1.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        f.apply(x)

    def lost(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2) * 1

    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        define(lost, lambda ctx, g: g).apply(x * 1)

    def stranger(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        define(stranger, lambda ctx, g: g).apply(x * 1)


def test_non_differentiable_outputs():
    x = leaf()

    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x, x * 2

    same, double = define(forward, lambda ctx, g, h: h).apply(x)
    assert same is not x and not same.requires_grad and same.is_leaf
    double.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0] and x.requires_grad


def test_results_with_a_history_of_their_own():
    x = leaf()

    def forward(ctx, x):
        with flambeau.enable_grad():
            y = x * 2
        ctx.save_for_backward(y)
        return y

    y = define(forward, lambda ctx, g: g * 5 + ctx.saved_tensors[0] * 0).apply(x)
    assert y.grad_fn.name() == "FBackward"
    assert grad(y.sum(), x)[0].tolist() == [5.0, 5.0, 5.0]


# ---- the context


def test_the_context_is_seen_through_the_node():
    x = leaf()

    def forward(ctx, x):
        ctx.note = 7
        ctx.save_for_backward(None, x)
        return x * 2

    y = define(forward, lambda ctx, g: g).apply(x)
    node = y.grad_fn
    assert node.note == 7 and node.saved_tensors[0] is None and node.saved_tensors[1] is x
    assert node.needs_input_grad == (True,) and type(node).__name__ == "FBackward"
    assert repr(node).startswith("<torch.autograd.function.FBackward object at")
    with pytest.raises(AttributeError, match="'FBackward' object has no attribute 'nothing'"):
        _ = node.nothing
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = node.saved_tensors


def test_contexts_can_be_inspected_in_backward():
    x, seen = leaf(), []

    def back(ctx, g):
        seen.append((ctx.name(), ctx.next_functions[0][0].name(), type(ctx).__name__))
        ctx.metadata["used"] = True
        return g

    y = define(lambda ctx, x: x * 2, back).apply(x)
    y.sum().backward()
    assert seen == [("FBackward", "torch::autograd::AccumulateGrad", "FBackward")]
    assert y.grad_fn.metadata == {"used": True}


def test_what_a_context_keeps_may_be_copied():
    def forward(ctx, x):
        ctx.options = {"scale": 2, "names": ["a"]}
        return x * 2

    node = define(forward, lambda ctx, g: g).apply(leaf()).grad_fn
    assert copy.deepcopy(node.options) == pickle.loads(pickle.dumps(node.options)) == node.options


def test_only_tensors_may_be_saved():
    f = define(lambda ctx, x: [ctx.save_for_backward(5), x * 2][1], lambda ctx, g: g)
    with pytest.raises(TypeError, match="can only save variables, but argument 0 is of type int"):
        f.apply(leaf())


def test_setup_context_gets_all_arguments():
    class Scale(Function):
        @staticmethod
        def forward(x, factor=2):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((len(inputs), output.requires_grad))
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    seen, x = [], leaf()
    for y, want in (
        (Scale.apply(x), 2.0),
        (Scale.apply(x, 3), 3.0),
        (Scale.apply(x, factor=4), 4.0),
    ):
        assert grad(y.sum(), x)[0].tolist() == [want] * 3
    assert seen == [(2, False)] * 3


def test_vjp_in_place_of_backward():
    class OnlyVjp(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    class Both(OnlyVjp):
        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf()
    assert grad(OnlyVjp.apply(x).sum(), x)[0].tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()


def test_missing_methods_and_instances():
    x = leaf()
    with pytest.raises(NotImplementedError, match="implement the forward function"):
        type("Empty", (Function,), {}).apply(x)
    only = type("Only", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        only.apply(x).sum().backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = only()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        instance(x)
    for name in ("jvp", "vmap", "setup_context"):
        with pytest.raises(NotImplementedError):
            getattr(Function, name)(None, None, None)
    assert Function.generate_vmap_rule is False and Function._backward_cls is not None


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x

    x = leaf()
    (g,) = grad(Square.apply(x).sum(), x, create_graph=True)
    assert flambeau.equal(g, 2 * x)
    assert not g.requires_grad  # its weight does not require grad
    weight = leaf()
    (g,) = grad(Square.apply(x), x, weight, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()


def test_nested_functions_and_third_derivatives():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Slope.apply(x) * g

    class Slope(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 3 * x**2

        @staticmethod
        def backward(ctx, g):
            return 6 * ctx.saved_tensors[0] * g

    x = leaf()
    (a,) = grad(Cube.apply(x).sum(), x, create_graph=True)
    (b,) = grad(a.sum(), x, create_graph=True)
    (c,) = grad(b.sum(), x)
    assert [t.tolist() for t in (a, b, c)] == [[3.0, 12.0, 27.0], [6.0, 12.0, 18.0], [6.0] * 3]


def test_nested_arguments():
    class Mix(NestedIOFunction):
        @staticmethod
        def forward_extended(ctx, pair):
            ctx.save_for_backward(pair[0], pair[1]["b"])
            return {"product": pair[0] * pair[1]["b"]}, pair[0] * 2

        @staticmethod
        def backward_extended(ctx, first, second):
            a, b = ctx.saved_tensors
            return ((first["product"] * b + 2 * second, {"b": first["product"] * a}),)

    a, b = leaf(), leaf(4.0, 5.0, 6.0)
    first, second = Mix.apply((a, {"b": b}))
    (first["product"].sum() + second.sum()).backward()
    assert a.grad.tolist() == [6.0, 7.0, 8.0] and b.grad.tolist() == [1.0, 2.0, 3.0]
