"""autograd.graph: hooks on saved tensors, nodes, edges, hooks on several tensors."""

from __future__ import annotations

import gc
import weakref

import pytest

import flambeau
from flambeau.autograd import backward, grad, graph
from flambeau.autograd.graph import (
    GradientEdge,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)

F = flambeau.nn.functional


def leaf(*values):
    return flambeau.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def same(t):
    return t


# ---- saved tensors


def test_pack_sees_each_saved_tensor_once():
    x, w, log = leaf(), flambeau.ones(3), []

    def pack(t):
        log.append((t.requires_grad, t is x))
        return t.detach()

    with saved_tensors_hooks(pack, same):
        x * w  # what x does not need is not saved
        assert log == [(False, False)]
        y = x.exp()
        assert log[1:] == [(True, False)]
        (y * x).sum()
        assert sorted(log[2:]) == [(True, False), (True, True)]
        x * 2
    assert len(log) == 4


def test_unpacked_values_are_used():
    x = leaf()
    with saved_tensors_hooks(lambda t: t * 2, same):
        with saved_tensors_hooks(lambda t: t * 10, same):
            y = x * x
        z = x * x
    assert grad(y.sum(), x)[0].tolist() == [20.0, 40.0, 60.0]
    assert grad(z.sum(), x)[0].tolist() == [4.0, 8.0, 12.0]

    @saved_tensors_hooks(lambda t: t * 3, same)
    def square(t):
        return t * t

    assert grad(square(x).sum(), x)[0].tolist() == [6.0, 12.0, 18.0]


def test_a_tensor_may_be_packed_as_anything():
    x = leaf()
    with saved_tensors_hooks(lambda t: t.tolist(), flambeau.tensor):
        y = (x.exp() * x).sum()
    want = grad((x.exp() * x).sum(), x)[0]
    assert flambeau.allclose(grad(y, x)[0], want)
    numpy = pytest.importorskip("numpy")
    with saved_tensors_hooks(lambda t: numpy.copy(t.numpy()), flambeau.from_numpy):
        y = (x.exp() * x).sum()
    assert flambeau.equal(grad(y, x)[0], want)


def test_second_derivatives_through_packed_tensors():
    x = leaf()

    def third(packed):
        with packed:
            y = (x.sin() * x * x).sum()
        (g,) = grad(y, x, create_graph=True)
        (h,) = grad(g.sum(), x, create_graph=True)
        return grad(h.sum(), x)[0]

    import contextlib

    plain = third(contextlib.nullcontext())
    hooked = third(saved_tensors_hooks(lambda t: t.detach().clone(), same))
    assert flambeau.equal(plain, hooked)
    with saved_tensors_hooks(lambda t: t.detach().clone(), same):
        saved = (x * x).grad_fn._saved_self
    assert saved.is_leaf and saved.requires_grad and saved.grad_fn is None and saved is not x


@pytest.mark.parametrize(
    ("pack", "unpack", "kind", "text"),
    [
        (lambda t: t.add_(1), same, RuntimeError, "pack hook is modifying its input in place"),
        (same, lambda t: 5, TypeError, "unpack_hook expected to be a Tensor but got .* int"),
        (same, lambda t: flambeau.ones(2), RuntimeError, "must match the size of tensor b"),
    ],
)
def test_wrong_hooks(pack, unpack, kind, text):
    x = leaf()
    with pytest.raises(kind, match=text):
        with saved_tensors_hooks(pack, unpack):
            y = (x * 1).exp() * x
        y.sum().backward()
    assert flambeau._C._top_saved_hooks() is None


def test_hooks_may_be_disabled():
    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with saved_tensors_hooks(same, same):
                pass
        with disable_saved_tensors_hooks("nor here"):
            with pytest.raises(RuntimeError, match="nor here"), save_on_cpu():
                pass
        with pytest.raises(RuntimeError, match="not here"), save_on_cpu():
            pass
    with saved_tensors_hooks(same, same):
        with pytest.raises(RuntimeError, match="inner"), disable_saved_tensors_hooks("inner"):
            pass


def test_save_on_cpu():
    x = leaf()
    with save_on_cpu(pin_memory=True):
        y = x * x * x
    assert grad(y.sum(), x)[0].tolist() == [3.0, 12.0, 27.0]


def test_hooks_of_one_saved_tensor():
    x = leaf()
    y = x * x
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t * 2, lambda t: t * 3)
    assert y.grad_fn._saved_self.tolist() == [6.0, 12.0, 18.0]
    assert saved.unpack().tolist() == saved.data.tolist() == [6.0, 12.0, 18.0]
    assert grad(y.sum(), x, retain_graph=True)[0].tolist() == [7.0, 14.0, 21.0]
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        saved.register_hooks(same, same)
    with pytest.raises(TypeError, match="must be callable"):
        y.grad_fn._raw_saved_other.register_hooks(1, 2)
    grad(y.sum(), x)
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn._raw_saved_other.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = y.grad_fn._saved_self


def test_mutation_of_saved_tensors_may_be_allowed():
    x = leaf()
    with allow_mutation_on_saved_tensors():
        a = x.clone()
        y = (a.exp() * a).sum()
        a.zero_()
        y.backward()
        z = (a * a).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            with allow_mutation_on_saved_tensors():
                pass
    assert flambeau.allclose(x.grad, (x + 1).exp() / 1 * 0 + x.exp() * (1 + x))
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        z.backward()


def test_increment_version():
    a = flambeau.ones(2)
    increment_version(a)
    increment_version([a, a])
    assert a._version == 3
    x = leaf()
    b = x * 1
    y = b * b
    increment_version(b)
    with pytest.raises(RuntimeError, match="modified by an inplace.*'increment_version'"):
        y.sum().backward()


# Which values nodes show, recorded from PyTorch.
SHOWN = [
    ("x.sum()", {"self_sym_sizes": (3,)}),
    ("x.sum(0, keepdim=True)", {"dim": (0,), "keepdim": True, "self_sym_sizes": (3,)}),
    ("x**2", {"exponent": 2}),
    ("m.softmax(0)", {"dim": 0}),
    ("m.view(4)", {"self_sym_sizes": (2, 2)}),
    ("m.permute(1, 0)", {"dims": (1, 0)}),
    ("x[0]", {"dim": 0, "index": 0, "self_sym_sizes": (3,)}),
    ("x[1:]", {"dim": 0, "self_sym_sizes": (3,), "start": 1, "step": 1}),
    ("flambeau.cat([x, x])", {"dim": 0}),
    ("m.mean(1, keepdim=True)", {"dim": (1,), "keepdim": True, "self_sym_sizes": (2, 2)}),
    ("m.max(1)[0]", {"dim": 1, "keepdim": False, "self_sym_sizes": (2, 2)}),
    ("x.clamp(1, 2)", {"min": 1, "max": 2}),
    ("x.expand(2, 3)", {"self_sym_sizes": (3,)}),
    ("x.add(x, alpha=3)", {"alpha": 3}),
    ("x.cumsum(0)", {"dim": 0}),
    ("m.transpose(0, 1)", {"dim0": 0, "dim1": 1}),
    ("x.logsumexp(0)", {"dim": (0,), "keepdim": False}),
]


@pytest.mark.parametrize(("code", "want"), SHOWN, ids=[c for c, _ in SHOWN])
def test_saved_values(code, want):
    x, m = leaf(), flambeau.ones(2, 2, requires_grad=True)  # noqa: F841
    node = eval(code).grad_fn
    for name, value in want.items():
        got = getattr(node, f"_saved_{name}")
        assert got == value and type(got) is type(value), (name, got)
        assert f"_saved_{name}" in dir(node)


@pytest.mark.parametrize(
    ("code", "tensors"),
    [
        ("x * x", "self other"),
        ("x / x", "self other"),
        ("x.exp()", "result"),
        ("x.sigmoid()", "result"),
        ("x.relu()", "result"),
        ("m @ m", "self mat2"),
        ("x.softmax(0)", "result"),
        ("flambeau.where(x > 1, x, x)", "condition"),
        ("m.max(1)[0]", "indices"),
        ("x.topk(2)[0]", "indices"),
        ("x.prod()", "self result"),
        ("x.gather(0, flambeau.tensor([0]))", "index"),
    ],
)
def test_saved_tensors_have_their_names(code, tensors):
    x, m = leaf(), flambeau.ones(2, 2, requires_grad=True)  # noqa: F841
    node = eval(code).grad_fn
    for name in tensors.split():
        assert isinstance(getattr(node, f"_saved_{name}"), flambeau.Tensor)
        assert type(getattr(node, f"_raw_saved_{name}")).__name__ == "SavedTensor"
    with pytest.raises(AttributeError, match="has no attribute '_saved_nothing'"):
        _ = node._saved_nothing


def test_what_is_not_needed_is_not_saved():
    x, w = leaf(), flambeau.ones(3)
    node = (x * w).grad_fn
    assert node._saved_self is None and node._saved_other is w
    before = w.clone()
    y = x * w
    x.detach().add_(0)  # changes x, which the gradient does not read
    assert flambeau.equal(grad(y.sum(), x)[0], before)


# ---- nodes and edges


def test_nodes():
    x = leaf()
    node = (x * x).grad_fn
    assert isinstance(node, graph.Node) and node.requires_grad and node.name() == "MulBackward0"
    assert type(node).__name__ == "MulBackward0" and node._sequence_nr() >= 0
    node.metadata["key"] = 1
    del x
    assert node.metadata == {"key": 1}
    (accumulator, nr), (again, _) = node.next_functions
    assert accumulator is again and nr == 0 and accumulator.next_functions == ()
    assert accumulator.variable.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(AttributeError, match="no attribute 'variable'"):
        _ = node.variable
    with pytest.raises(TypeError, match="Node"):
        graph.Node()


def test_metadata_lives_with_the_node():
    x = leaf()
    y = x * 2
    y.grad_fn.metadata["note"] = "kept"
    gc.collect()
    assert y.grad_fn.metadata == {"note": "kept"}
    assert (y + 1).grad_fn.next_functions[0][0].metadata == {"note": "kept"}


def test_gradient_edges():
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    edge = get_gradient_edge(y)
    assert edge == GradientEdge(y.grad_fn, 0, None) and edge.output_nr == 0
    assert get_gradient_edge(x).node.name() == "torch::autograd::AccumulateGrad"
    assert grad(z, [edge], retain_graph=True)[0].tolist() == [4.0, 8.0, 12.0]
    assert grad(get_gradient_edge(z), x, retain_graph=True)[0].tolist() == [8.0, 16.0, 24.0]
    weights = flambeau.ones(3)
    assert grad(edge, x, weights, retain_graph=True)[0].tolist() == [2.0, 2.0, 2.0]
    backward(z, inputs=[get_gradient_edge(x)])
    assert x.grad.tolist() == [8.0, 16.0, 24.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs, got shape"):
        grad(get_gradient_edge(x * 2), x)
    with pytest.raises(RuntimeError, match="does not require gradients"):
        get_gradient_edge(weights)


def test_an_edge_does_not_keep_the_tensor():
    x = leaf()
    y = x * 2
    ref, edge, z = weakref.ref(y), get_gradient_edge(y), (y * y).sum()
    del y
    assert ref() is None
    assert grad(z, [edge])[0].tolist() == [4.0, 8.0, 12.0]


# ---- order of hooks, recorded from PyTorch


def test_order_of_hooks_of_a_result():
    x, log = leaf(), []
    y = x * 2
    y.register_hook(lambda g: log.append("first"))
    y.retain_grad()
    y.register_hook(lambda g: [log.append("second"), g * 2][1])
    node = y.grad_fn
    node.register_prehook(lambda grads: log.append(("pre", len(grads))))
    node.register_hook(lambda inputs, outputs: log.append(("post", len(outputs))))
    y.sum().backward()
    assert log == ["first", "second", ("pre", 1), ("post", 1)]
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_order_of_hooks_of_a_leaf():
    x, log = leaf(), []
    y = (x * 2).sum()
    node = get_gradient_edge(x).node
    node.register_prehook(lambda grads: log.append("pre"))
    node.register_hook(lambda inputs, outputs: log.append(("post", inputs, len(outputs))))
    x.register_hook(lambda g: log.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    y.backward()
    assert log == ["tensor", "pre", "accumulated", ("post", (), 1)]


# ---- hooks on several tensors


def test_hook_with_all_gradients():
    x, w, seen = leaf(), leaf(4.0, 5.0, 6.0), []
    handle = register_multi_grad_hook(
        [x, w], lambda grads: seen.append([None if g is None else g.tolist() for g in grads])
    )
    (x * w).sum().backward()
    assert seen == [[[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]]
    x.sum().backward()  # the other one is not reached
    assert seen[1] == [[1.0, 1.0, 1.0], None]
    grad((x * w).sum(), w)
    assert seen[2] == [None, [1.0, 2.0, 3.0]]
    y = x * 2
    with register_multi_grad_hook([x, y], lambda grads: seen.append("both")):
        y.sum().backward()
    handle.remove()
    y = (x * 2).sum()
    y.backward()
    assert seen[3:] == [[[2.0, 2.0, 2.0], None], "both"] or seen[3:] == [
        "both",
        [[2.0, 2.0, 2.0], None],
    ]


def test_hook_with_the_first_gradient():
    x, w, seen = leaf(), leaf(4.0, 5.0, 6.0), []
    register_multi_grad_hook([x, w], lambda g: seen.append(g.tolist()), mode="any")
    (x * w).sum().backward()
    (x * w).sum().backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="one of .'all', 'any'. but got some"):
        register_multi_grad_hook([x], same, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        register_multi_grad_hook([flambeau.ones(2)], same)


# ---- gradients that do not depend on the argument

FLAT = [
    ("hardtanh", lambda x: F.hardtanh(x), (6,)),
    ("relu6", lambda x: F.relu6(x), (6,)),
    ("hardsigmoid", lambda x: F.hardsigmoid(x), (6,)),
    ("softshrink", lambda x: F.softshrink(x), (6,)),
    ("hardshrink", lambda x: F.hardshrink(x), (6,)),
    ("prelu", lambda x: F.prelu(x, flambeau.ones(1)), (6,)),
    ("max_pool1d", lambda x: F.max_pool1d(x, 2), (1, 1, 6)),
    ("max_pool2d", lambda x: F.max_pool2d(x, 2), (1, 1, 4, 4)),
    ("max_pool3d", lambda x: F.max_pool3d(x, 2), (1, 1, 2, 2, 2)),
    ("avg_pool2d", lambda x: F.avg_pool2d(x, 2), (1, 1, 4, 4)),
    ("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 2), (1, 1, 4, 4)),
    ("pad", lambda x: F.pad(x, (1, 1), mode="reflect"), (1, 1, 4)),
]


@pytest.mark.parametrize(("name", "function", "shape"), FLAT, ids=[n for n, *_ in FLAT])
def test_flat_gradients_require_grad(name, function, shape):
    x = flambeau.linspace(-2, 2, flambeau.ones(shape).numel()).reshape(shape).requires_grad_()
    y = function(x)
    (g,) = grad(y.sum(), x, create_graph=True)
    assert g.requires_grad and "Backward" in g.grad_fn.name()
    (h,) = grad(g.sum(), x)
    assert h.shape == x.shape and not h.any()
    assert not grad(function(x).sum(), x)[0].requires_grad
    assert flambeau.autograd.gradgradcheck(function, (x.detach().double().requires_grad_(),))


@pytest.mark.parametrize(
    "code",
    [
        "flambeau.cat([a[:3], a[3:]], out=a)",
        "flambeau.cat([a[:2], b], out=a[:4])",
        "flambeau.stack([a[:3], a[3:]], out=a.view(2, 3))",
        "flambeau.index_select(a, 0, i, out=a[:2])",
        "flambeau.gather(a, 0, i, out=a[:2])",
        "flambeau.take(a, i, out=a[:2])",
        "flambeau.masked_select(a, a > 2, out=a[:3])",
    ],
)
def test_out_may_not_be_an_argument(code):
    a, b, i = flambeau.arange(6.0), flambeau.ones(2), flambeau.tensor([0, 1])  # noqa: F841
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        eval(code)
    assert a.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
