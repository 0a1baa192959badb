"""backward() and grad(): arguments, layouts of gradients, views that may not change, errors."""

from __future__ import annotations

import warnings

import pytest

import flambeau
from flambeau.autograd import backward, grad


def leaf(*values):
    return flambeau.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_inputs_limit_what_accumulates():
    x, w = leaf(), leaf()
    y = x * w
    y.sum().backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [1.0, 2.0, 3.0] and w.grad is None
    y.sum().backward(inputs=w)
    assert w.grad.tolist() == [1.0, 2.0, 3.0] and x.grad.tolist() == [1.0, 2.0, 3.0]
    z = leaf()
    (x * 2).sum().backward(inputs=[z])
    assert z.grad is None
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    assert y.grad.tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(RuntimeError, match="`inputs` argument to `backward..` cannot be empty"):
        y.sum().backward(inputs=[])


def test_hooks_run_with_inputs():
    x, log = leaf(), []
    x.register_hook(lambda g: log.append("hook"))
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.tolist()))
    (x * 2).sum().backward(inputs=[x])
    assert log == ["hook", [2.0, 2.0, 2.0]]


def test_batches_of_gradients():
    x = leaf()
    y = x * x * x
    (g,) = grad(y, x, flambeau.eye(3), is_grads_batched=True, create_graph=True)
    assert flambeau.equal(g, flambeau.diag(3 * x * x).detach()) and g.requires_grad
    assert grad(g.sum(), x, retain_graph=True)[0].tolist() == [6.0, 12.0, 18.0]
    out = grad(y, [x, leaf()], flambeau.eye(3), is_grads_batched=True, allow_unused=True)
    assert out[1] is None
    with pytest.raises(RuntimeError, match=r"first dimension .* as the batch .*grad_output\[0\]"):
        grad(x * x, x, flambeau.ones(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(x * x, x, is_grads_batched=True)


def test_deprecated_arguments():
    x = leaf()
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        grad(x.sum(), x, only_inputs=False)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        backward(x.sum(), grad_variables=flambeau.ones(()))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="both passed"):
        backward(x.sum(), flambeau.ones(()), grad_variables=flambeau.ones(()))
    with pytest.raises(RuntimeError, match="`inputs` argument to `grad..` cannot be empty"):
        grad(x.sum(), [])


def test_unused_inputs():
    x, z = leaf(), leaf()
    with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used"):
        grad(x.sum(), [x, z])
    assert grad(x.sum(), [z], allow_unused=True) == (None,)
    assert grad(x.sum(), [z], materialize_grads=True)[0].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="materialize_grads=True"):
        grad(x.sum(), [z], materialize_grads=True, allow_unused=False)


@pytest.mark.parametrize("code", ["x * x", "x * 2", "x.exp()", "x / 2", "x**2"])
def test_backward_twice(code):
    x = leaf()  # noqa: F841
    y = eval(code).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize("code", ["x + 1", "x - x", "-x", "x.view(3, 1)"])
def test_backward_twice_where_nothing_is_saved(code):
    x = leaf()
    y = eval(code)
    y.backward(flambeau.ones(y.shape))
    y.backward(flambeau.ones(y.shape))
    assert x.grad is not None


# ---- layouts, recorded from PyTorch


def strides_of_grad(x, other):
    (x * other).sum().backward()
    return x.grad.stride()


def test_gradients_lie_as_their_leaf():
    other = flambeau.arange(6.0).view(3, 2)
    assert strides_of_grad(flambeau.ones(2, 3).t().requires_grad_(), other) == (1, 3)
    assert strides_of_grad(flambeau.ones(3, 1).expand(3, 2).requires_grad_(), other) == (2, 1)
    image = flambeau.ones(1, 2, 3, 3).to(memory_format=flambeau.channels_last).requires_grad_()
    assert strides_of_grad(image, flambeau.ones(1, 2, 3, 3)) == (18, 1, 6, 2)
    x = flambeau.ones(2, 3, requires_grad=True)
    x.t().contiguous().mul(2).sum().backward()
    assert x.grad.stride() == (3, 1)


def test_accumulation_is_in_place_without_history():
    x = leaf()
    x.sum().backward()
    g = x.grad
    x.sum().backward()
    assert x.grad is g and g.tolist() == [2.0, 2.0, 2.0]
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not g and x.grad.requires_grad
    weights = flambeau.ones(3)
    y = leaf()
    y.backward(weights)
    assert y.grad is not weights and y.grad.data_ptr() != weights.data_ptr()


def test_grad_of_a_result_warns():
    y = leaf() * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.retain_grad()
        assert y.grad is None and leaf().grad is None


# ---- views

MULTIPLE = "This view is the output of a function that returns multiple views"


@pytest.mark.parametrize("cut", ["unbind(0)", "chunk(2)", "split(2)"])
def test_parts_whose_base_changes(cut):
    base = leaf(1.0, 2.0, 3.0, 4.0) * 1
    parts = eval(f"base.{cut}")
    base.mul_(2)
    with pytest.raises(RuntimeError, match=f"base or another view.*{MULTIPLE}"):
        _ = parts[0].grad_fn
    with pytest.raises(RuntimeError, match=f"base or another view.*{MULTIPLE}"):
        _ = parts[0] + 1
    base = leaf(1.0, 2.0, 3.0, 4.0) * 1
    parts = eval(f"base.{cut}")
    with pytest.raises(RuntimeError, match=f"modified inplace by 'mul_'.*{MULTIPLE}"):
        parts[0].mul_(2)
    with pytest.raises(RuntimeError, match="modified inplace by 'mul_'"):
        parts[0].view(-1)[:1].mul_(2)


def test_parts_of_constants_may_change():
    base = flambeau.arange(4.0)
    parts = base.chunk(2)
    base.mul_(2)
    assert (parts[0] * 2).tolist() == [0.0, 4.0]


def test_views_made_without_recording():
    for change in ("v.mul_(2)", "[c.mul_(2), v * 2]"):
        c = leaf() * 1
        with flambeau.no_grad():
            v = c[:2]
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and"):
            eval(change, {"c": c, "v": v})


# ---- inference mode


def test_inference_mode():
    x = leaf()
    with flambeau.inference_mode():
        a, b, v = flambeau.ones(2), x * 2, x[:2]
        with flambeau.enable_grad():
            assert not (x * 2).requires_grad
        with flambeau.inference_mode(False):
            assert (x * 2).requires_grad
    assert a.is_inference() and b.is_inference() and not v.is_inference()
    assert a[:1].is_inference() and not a.clone().is_inference()
    assert (x[:2] + a).requires_grad
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        _ = x[:2] * a
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        a.add_(1)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = a._version


def test_multithreading_mode():
    from flambeau.autograd import is_multithreading_enabled, set_multithreading_enabled

    assert is_multithreading_enabled()
    with set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
    assert is_multithreading_enabled()
