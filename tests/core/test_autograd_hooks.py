"""Hooks on tensors and nodes: when they run, what they may change, how they go."""

from __future__ import annotations

import pytest

import flambeau


def leaf(values=(1.0, 2.0, 3.0)):
    return flambeau.tensor(list(values), requires_grad=True)


def test_tensor_hook_replaces_the_gradient():
    x = leaf()
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1.0] * 3, [10.0] * 3] and x.grad.tolist() == [20.0] * 3


def test_leaf_hook_runs_once_on_each_gradient():
    x = leaf()
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.tolist()) or g + 1)
    (x * 2 + x).sum().backward()
    assert seen == [[3.0] * 3] and x.grad.tolist() == [4.0] * 3
    (g,) = flambeau.autograd.grad((x * 2).sum(), x)
    assert g.tolist() == [3.0] * 3
    handle.remove()
    handle.remove()
    x.grad = None
    x.sum().backward()
    assert len(seen) == 2 and x.grad.tolist() == [1.0] * 3


def test_hook_handle_is_a_context_manager():
    x, seen = leaf(), []
    with x.register_hook(lambda g: seen.append(1)):
        x.sum().backward()
    x.sum().backward()
    assert seen == [1]


def test_hook_may_remove_itself():
    x, seen = leaf(), []
    handles = []
    handles.append(x.register_hook(lambda g: (seen.append(1), handles[0].remove())[0]))
    x.sum().backward()
    x.sum().backward()
    assert seen == [1]


def test_retain_grad():
    x = leaf()
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward()
    assert y.retains_grad and y.grad.tolist() == [4.0, 8.0, 12.0]
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        flambeau.ones(1).retain_grad()


def test_a_tensor_that_retained_its_gradient_may_go_before_its_graph():
    x = leaf()
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    del y
    kept = [leaf() for _ in range(100)]  # takes the memory of y
    z.backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]
    assert all(t.grad is None for t in kept)


def test_a_retained_gradient_is_that_of_the_changed_tensor():
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(2)
    y.sum().backward()
    assert y.grad.tolist() == [1.0] * 3 and x.grad.tolist() == [4.0] * 3
    x = leaf()
    y = x * 2
    y.retain_grad()
    v = y[:2]
    v.retain_grad()
    v.mul_(5)
    (y * y).sum().backward()
    assert y.grad.tolist() == [20.0, 40.0, 12.0] and x.grad.tolist() == [200.0, 400.0, 24.0]
    assert v.grad is None  # y leads to x, past the view
    x = leaf()
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    v.sum().backward()
    assert v.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [6.0, 6.0, 0.0]


def test_retained_gradient_is_the_one_after_hooks():
    x = leaf()
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    assert y.grad.tolist() == [5.0] * 3 and x.grad.tolist() == [5.0] * 3


def test_post_accumulate_hook():
    x, seen = leaf(), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    x.sum().backward()
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert seen == [(True, [1.0] * 3), (True, [2.0] * 3)]
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 1).register_post_accumulate_grad_hook(lambda t: None)


def test_optimizer_in_backward():
    x = leaf()

    def step(t):
        with flambeau.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.tolist() == [0.0] * 3 and x.grad is None


def test_node_hooks():
    x = leaf()
    y = x * 2
    seen = []
    post = y.grad_fn.register_hook(
        lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist()))
    )
    pre = y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    y.sum().backward(retain_graph=True)
    assert seen == [([6.0] * 3, [3.0] * 3)] and x.grad.tolist() == [6.0] * 3
    pre.remove()
    post.remove()
    x.grad = None
    y.sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [2.0] * 3


def test_node_posthook_replaces_gradients():
    x = leaf()
    y = x * 2
    y.grad_fn.register_hook(
        lambda inputs, outputs: tuple(g if g is None else g * 7 for g in inputs)
    )
    y.sum().backward()
    assert x.grad.tolist() == [14.0] * 3


def test_accumulator_hook():
    x, seen = leaf(), []
    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda *args: seen.append(1))
    (x * 2).sum().backward()
    assert seen == [1]


@pytest.mark.parametrize(
    "register", ["register_hook", "retain_grad", "register_post_accumulate_grad_hook"]
)
def test_hooks_need_a_gradient(register):
    method = getattr(flambeau.ones(1), register)
    with pytest.raises(RuntimeError):
        method() if register == "retain_grad" else method(lambda g: g)


def test_errors_in_hooks_propagate_and_leave_the_engine_usable():
    x = leaf()

    class Custom(Exception):
        pass

    def fail(*_):
        raise Custom

    for handle in (
        lambda y: x.register_hook(fail),
        lambda y: y.register_hook(fail),
        lambda y: y.grad_fn.register_hook(fail),
        lambda y: y.grad_fn.register_prehook(fail),
        lambda y: x.register_post_accumulate_grad_hook(fail),
    ):
        y = x * 2
        registered = handle(y)
        with pytest.raises(Custom):
            y.sum().backward()
        registered.remove()
    assert flambeau.is_grad_enabled()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "hook, kind, text",
    [
        (lambda g: 3, TypeError, "hook"),
        (lambda g: flambeau.ones(7), RuntimeError, "has changed the size of value"),
    ],
)
def test_wrong_results_of_hooks(hook, kind, text):
    x = leaf()
    y = x * 1
    y.register_hook(hook)
    with pytest.raises(kind, match=text):
        y.sum().backward()


def test_wrong_results_of_node_hooks():
    for register, hook in (
        ("register_prehook", lambda g: ()),
        ("register_prehook", lambda g: (flambeau.ones(7),)),
        ("register_hook", lambda a, b: (flambeau.ones(2, 2, 9),) * 2),
    ):
        x = leaf()
        y = x * 2
        getattr(y.grad_fn, register)(hook)
        with pytest.raises(RuntimeError):
            y.sum().backward()


def test_a_callback_after_backward():
    x, order = leaf(), []

    def hook(g):
        flambeau._C._queue_callback(lambda: order.append("end"))
        order.append("hook")

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert order == ["hook", "end"]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        flambeau._C._queue_callback(lambda: None)


def test_backward_inside_a_hook():
    x, w = leaf(), leaf()
    y = x * 1

    def hook(g):
        with flambeau.enable_grad():
            (w * w).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0] and x.grad.tolist() == [1.0] * 3


def test_hook_on_a_tensor_that_changes_in_place_later():
    x, seen = leaf(), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(3)
    y.sum().backward()
    assert seen == [[3.0] * 3] and x.grad.tolist() == [6.0] * 3


# ---- what hooks return ---------------------------------------------------------------------------


def wrong(g):
    return 3


def longer(g):
    return flambeau.ones(4)


def wider(g):
    return g.double()


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (wrong, TypeError, "expected Variable, but hook returned 'int'"),
        (longer, RuntimeError, "hook 'longer' has changed the size of value"),
        (wider, RuntimeError, "hook 'wider' has changed the type of value"),
    ],
)
def test_hooks_of_tensors_return_gradients(hook, error, message):
    x = leaf()
    for t in (x, x * 2):
        handle = t.register_hook(hook)
        with pytest.raises(error, match=message):
            (t * 3).sum().backward()
        handle.remove()
    x.register_post_accumulate_grad_hook(hook)
    with pytest.raises(error, match=message):
        x.sum().backward()


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda g: 3, TypeError, "expected tuple, but hook returned 'int'"),
        (lambda g: g[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (lambda g: list(g), TypeError, "expected tuple, but hook returned 'list'"),
        (lambda g: (), RuntimeError, r"incorrect number of values \(got 0, but expected"),
        (lambda g: (*g, g[0]), RuntimeError, "incorrect number of values"),
        (lambda g: (3, *g[1:]), TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: (longer(g), *g[1:]), RuntimeError, "has changed the size of value"),
        (lambda g: (wider(g[0]), *g[1:]), RuntimeError, "has changed the type of value"),
    ],
)
def test_hooks_of_nodes_return_tuples(result, error, message):
    x = leaf()
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: result(inputs))
    with pytest.raises(error, match=message):
        y.sum().backward()
    y = x * x
    y.grad_fn.register_prehook(result)
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_hooks_may_drop_gradients_but_not_make_them():
    x = leaf()
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: (None, inputs[1]))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: (None, None))
    y.grad_fn.register_hook(lambda inputs, outputs: (flambeau.ones(3), None))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        y.sum().backward()


def test_hooks_of_nodes_see_gradients_of_the_inputs_shapes():
    x, w = leaf(), leaf((2.0,))
    y, shapes = x * w, []
    y.grad_fn.register_hook(lambda inputs, outputs: shapes.extend(g.shape for g in inputs))
    y.sum().backward()
    assert shapes == [(3,), (1,)] and w.grad.tolist() == [6.0]
