"""Backward, grad, modes, hooks. Expected values are PyTorch's, stored as literals."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import flambeau
from flambeau.autograd import backward, grad, gradcheck

X = [1.0, 2.0, 3.0]


def leaf(values=X):
    return flambeau.tensor(values, requires_grad=True)


def chain(t):
    """Names of the nodes from ``t`` along first inputs."""
    names, node = [], t.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


# ---- the graph -----------------------------------------------------------------------------------

NAMES = {
    "Add": lambda x: x + 1, "Mul": lambda x: x * x, "Sub": lambda x: x - x, "Div": lambda x: x / 2,
    "Neg": lambda x: -x, "Exp": lambda x: x.exp(), "View": lambda x: x.view(3, 1),
    "Select": lambda x: x[0], "Slice": lambda x: x[:2], "Unsqueeze": lambda x: x[None],
    "Index": lambda x: x[flambeau.tensor([0, 1])], "Clone": lambda x: x.clone(),
    "Expand": lambda x: x.expand(2, 3), "Relu": lambda x: x.relu(),
    "Sigmoid": lambda x: x.sigmoid(),
    "Tanh": lambda x: x.tanh(), "Log": lambda x: x.log(), "Sqrt": lambda x: x.sqrt(),
    "Abs": lambda x: x.abs(), "Sin": lambda x: x.sin(), "Cat": lambda x: flambeau.cat([x, x]),
    "Where": lambda x: flambeau.where(x > 1, x, x),
    "Permute": lambda x: x.permute(0), "Flip": lambda x: x.flip(0),
    "Maximum": lambda x: flambeau.maximum(x, x),
    "Unbind": lambda x: x.unbind()[0], "Repeat": lambda x: x.repeat(2), "Erf": lambda x: x.erf(),
    "Gather": lambda x: x.gather(0, flambeau.tensor([0])), "Reciprocal": lambda x: x.reciprocal(),
    "IndexSelect": lambda x: x.index_select(0, flambeau.tensor([0])), "Rsqrt": lambda x: x.rsqrt(),
    "Lerp": lambda x: flambeau.lerp(x, x, 0.5), "AsStrided": lambda x: x.as_strided((2,), (1,)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAMES))
def test_node_names(name):
    assert chain(NAMES[name](leaf())) == [name + "Backward0", "torch::autograd::AccumulateGrad"]


def test_nodes_and_edges():
    x = leaf()
    a = x * 2
    b = a + x
    (first, k), (second, m) = b.grad_fn.next_functions
    assert (first.name(), k, second.name(), m) == (
        "MulBackward0",
        0,
        "torch::autograd::AccumulateGrad",
        0,
    )
    assert first is a.grad_fn and second.variable is x
    assert type(b.grad_fn).__name__ == "AddBackward0"
    assert x.grad_fn is None and x.is_leaf and not b.is_leaf and x.detach().grad_fn is None
    parts = x.unbind()
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert (parts[2] * 1).grad_fn.next_functions[0][1] == 2
    assert chain(x.view(3, 1).transpose(0, 1))[:2] == ["TransposeBackward0", "ViewBackward0"]


def test_constants_have_no_history():
    y = flambeau.ones(2) * 2
    assert y.grad_fn is None and not y.requires_grad
    assert flambeau.tensor([1]).mul(2).grad_fn is None
    assert (leaf() > 0).requires_grad is False
    assert leaf().argsort is not None and not leaf().long().requires_grad


# ---- backward ------------------------------------------------------------------------------------


def test_gradients_accumulate():
    x = leaf()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    kept = x.grad
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0, 8.0] and x.grad is kept
    assert not x.grad.requires_grad
    x.grad = None
    (x + x + x).backward(flambeau.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [3.0, 30.0, 300.0]


def test_shared_subexpression():
    x = leaf([2.0])
    a = x * x
    b = a * a
    (b * a + b).backward()
    assert x.grad.tolist() == [6 * 2.0**5 + 4 * 2.0**3]


def test_second_backward_needs_retain_graph():
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = x.sum()  # nothing is saved: allowed as often as wanted
    z.backward()
    z.backward()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: (x * x).backward(), "grad can be implicitly created only for scalar outputs"),
        (
            lambda x: flambeau.ones(1).backward(),
            "element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        (
            lambda x: grad(x.sum(), flambeau.ones(1)),
            "One of the differentiated Tensors does not require grad",
        ),
        (lambda x: grad(x.sum(), leaf()), "appears? to not have been used in the graph"),
        (lambda x: grad(x * 2, x, flambeau.ones(2)), "Mismatch in shape: grad_output"),
        (lambda x: grad([x * 2, x * 3], x, [flambeau.ones(3)]), "got 2 tensors and 1 gradients"),
        (lambda x: x.sum().backward(inputs=[]), "cannot be empty"),
        (lambda x: flambeau.tensor([1]).requires_grad_(), "floating point"),
        (
            lambda x: (x * 2).requires_grad_(False),
            "you can only change requires_grad flags of leaf variables",
        ),
        (lambda x: x.numpy(), r"Can't call numpy\(\) on Tensor that requires grad"),
        (
            lambda x: flambeau.add(flambeau.ones(3), 1, out=x),
            "don't support automatic differentiation",
        ),
        (
            lambda x: flambeau.tensor([1j], requires_grad=True).sum().backward(),
            "only for real scalar outputs",
        ),
    ],
)
def test_runtime_errors(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(leaf())


def test_grad_arguments():
    x, w = leaf(), leaf()
    (g,) = grad((x * w).sum(), x)
    assert g.tolist() == X and x.grad is None and w.grad is None
    assert grad(x.sum(), w, allow_unused=True) == (None,)
    (zero,) = grad(x.sum(), w, materialize_grads=True)
    assert zero.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="materialize_grads"):
        grad(x.sum(), x, materialize_grads=True, allow_unused=False)
    a, b = grad([x * 2, x * w], [x, w], [flambeau.ones(3), flambeau.tensor([0.0, 1.0, 2.0])])
    assert a.tolist() == [2.0, 4.0, 8.0] and b.tolist() == [0.0, 2.0, 6.0]
    middle = x * 3
    (g,) = grad((middle * middle).sum(), middle)
    assert g.tolist() == [6.0, 12.0, 18.0]
    with pytest.raises(TypeError):
        grad(x * 2, x, 3)


def test_only_the_path_to_the_inputs_runs():
    calls = []

    class Loud(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g

    x, w = leaf(), leaf()
    y = (Loud.apply(x) * w).sum()
    grad(y, w, retain_graph=True)
    assert not calls
    y.backward(inputs=[w], retain_graph=True)
    assert not calls and x.grad is None and w.grad.tolist() == X
    y.backward(inputs=(x, w))
    assert calls == [1] and w.grad.tolist() == [2.0, 4.0, 6.0]


def test_higher_derivatives():
    x = flambeau.tensor(2.0, requires_grad=True, dtype=flambeau.float64)
    y = x**5
    for want in (80.0, 160.0, 240.0, 240.0, 120.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(want)
    assert grad(y, x, allow_unused=True)[0] in (None, 0)
    x = leaf([0.5])
    x.sin().sum().backward(create_graph=True)
    assert x.grad.requires_grad
    x.grad = None


def test_backward_of_several_roots():
    x = leaf()
    backward([x.sum(), x * 2], [None, flambeau.ones(3)])
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(TypeError):
        backward([x.sum()], [3])


def test_broadcasting_and_dtypes_of_gradients():
    x, b = leaf([[1.0], [2.0]]), leaf(5.0)
    (x * flambeau.ones(3, dtype=flambeau.float64) + b).sum().backward()
    assert x.grad.tolist() == [[3.0], [3.0]] and x.grad.dtype == flambeau.float32
    assert b.grad.item() == 6.0 and b.grad.shape == ()


def test_complex_gradients_follow_the_conjugate_convention():
    def of(f):
        z = flambeau.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        f(z).backward()
        return z.grad.tolist()

    assert of(lambda z: (z * z.conj()).real.sum()) == [2 + 4j, 6 - 2j]
    assert of(lambda z: (z**2).real.sum()) == pytest.approx([2 - 4j, 6 + 2j])
    assert of(lambda z: (z**2).imag.sum()) == pytest.approx([4 + 2j, -2 + 6j])
    assert of(lambda z: z.abs().sum()) == pytest.approx(
        [0.4472 + 0.8944j, 0.9487 - 0.3162j], abs=1e-4
    )
    r = leaf([1.0, 2.0])
    (r * flambeau.tensor([1j, 2 + 1j])).abs().sum().backward()
    assert r.grad.tolist() == pytest.approx([1.0, 5**0.5]) and r.grad.dtype == flambeau.float32


def test_long_chains_neither_recurse_nor_overflow():
    x = leaf([1.0])
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    z = x
    for _ in range(100_000):
        z = z * x
    del y, z
    gc.collect()


def test_graph_is_freed():
    x = leaf()
    y = x * x
    alive = weakref.ref(y)
    z = y.exp()
    del y
    assert alive() is None
    z.sum().backward()
    node = weakref.ref(z)
    del z
    assert node() is None


# ---- modes ---------------------------------------------------------------------------------------


def test_modes_as_context():
    x = leaf()
    with flambeau.no_grad():
        assert not (x * 2).requires_grad and not flambeau.is_grad_enabled()
        with flambeau.enable_grad():
            assert (x * 2).requires_grad
        with flambeau.set_grad_enabled(True):
            assert (x * 2).requires_grad
    with flambeau.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with pytest.raises(KeyError), flambeau.no_grad():
        raise KeyError
    assert flambeau.is_grad_enabled()
    flambeau.set_grad_enabled(False)
    assert not flambeau.is_grad_enabled()
    flambeau.set_grad_enabled(True)


def test_modes_as_decorators():
    @flambeau.no_grad()
    def f(x):
        return (x * 2).requires_grad

    @flambeau.no_grad
    def g(x):
        return (x * 2).requires_grad

    @flambeau.set_grad_enabled(False)
    def h(x):
        return (x * 2).requires_grad

    assert flambeau.is_grad_enabled()
    assert not f(leaf()) and not g(leaf()) and not h(leaf())
    assert f.__name__ == "f"


def test_modes_around_generators():
    @flambeau.no_grad()
    def steps():
        got = yield flambeau.is_grad_enabled()
        yield got, flambeau.is_grad_enabled()

    generator = steps()
    assert next(generator) is False
    assert flambeau.is_grad_enabled()
    assert generator.send("x") == ("x", False)
    assert flambeau.is_grad_enabled()


def test_inference_mode():
    x = leaf()
    with flambeau.inference_mode():
        q = flambeau.ones(3)
        assert (
            q.is_inference() and not (x * 2).requires_grad and flambeau.is_inference_mode_enabled()
        )
        q.add_(1)
    assert not flambeau.is_inference_mode_enabled()
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        q.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * q
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        q.requires_grad_()
    assert q.view(3).is_inference() and not q.clone().is_inference()
    with flambeau.inference_mode(False):
        assert (x * 2).requires_grad


def test_modes_belong_to_a_thread():
    seen = []
    with flambeau.no_grad():
        thread = threading.Thread(target=lambda: seen.append(flambeau.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# ---- gradcheck -----------------------------------------------------------------------------------


def test_gradcheck_catches_a_wrong_gradient():
    class Wrong(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * 2.01

    x = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, (x,))
    assert gradcheck(Wrong.apply, (x,), raise_exception=False) is False
    assert gradcheck(lambda t: t * t, (x,))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda t: t, (flambeau.ones(1),))
