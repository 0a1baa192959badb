"""Softmax, normalisation and losses against definitions in NumPy; derivatives to second order."""

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn import functional as F

RNG = np.random.default_rng(2)


def tensor(array, grad=False):
    t = flambeau.from_numpy(np.ascontiguousarray(array))
    return t.requires_grad_() if grad else t


def normal(*shape):
    return RNG.standard_normal(shape)


def softmax(a, dim):
    e = np.exp(a - a.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


@pytest.mark.parametrize("shape", [(3, 4, 5), (7, 1000), (2, 300, 150)])
def test_softmax(shape):
    a = normal(*shape) * 10
    for dim in range(len(shape)):
        np.testing.assert_allclose(
            flambeau.softmax(tensor(a), dim).numpy(), softmax(a, dim), rtol=1e-10, atol=1e-300
        )
        np.testing.assert_allclose(
            flambeau.log_softmax(tensor(a), dim).numpy(),
            np.log(softmax(a, dim)),
            rtol=1e-9,
            atol=1e-10,
        )


def test_softmax_of_masked_rows():
    t = flambeau.tensor([[0.0, -np.inf], [-np.inf, -np.inf]])
    assert flambeau.softmax(t, 1)[0].tolist() == [1, 0]
    assert flambeau.softmax(t, 1)[1].isnan().all()


@pytest.mark.parametrize("f", [flambeau.softmax, flambeau.log_softmax])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_derivatives(f, dim):
    t = tensor(normal(3, 4), grad=True)
    assert gradcheck(lambda x: f(x, dim), (t,)) and gradgradcheck(lambda x: f(x, dim), (t,))


NORMS = {
    "layer": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4)),
    "rms": (lambda x, w, b: F.rms_norm(x, (4,), w) + b, (3, 4)),
    "batch": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (3, 4, 2)),
    "batch_columns": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (5, 4)),
    "group": (lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 3)),
    "instance": (lambda x, w, b: F.instance_norm(x, None, None, w, b), (2, 4, 3)),
}


@pytest.mark.parametrize("name", NORMS)
def test_norm_derivatives(name):
    f, shape = NORMS[name]
    inputs = tensor(normal(*shape), True), tensor(normal(4), True), tensor(normal(4), True)
    assert gradcheck(f, inputs) and gradgradcheck(f, inputs)


def test_norm_values():
    x, w, b = normal(6, 4, 5), normal(4), normal(4)
    mean, var = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    expected = (x - mean) / np.sqrt(var + 1e-5) * w[:, None] + b[:, None]
    running_mean, running_var = flambeau.zeros(4).double(), flambeau.ones(4).double()
    out = F.batch_norm(tensor(x), running_mean, running_var, tensor(w), tensor(b), True, 0.1)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(running_mean.numpy(), 0.1 * mean.ravel(), rtol=1e-9)
    np.testing.assert_allclose(running_var.numpy(), 0.9 + 0.1 * x.var((0, 2), ddof=1), rtol=1e-9)
    row = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(tensor(x), (5,)).numpy(), row, rtol=1e-9)


def test_channels_last_keeps_its_layout():
    x = tensor(normal(2, 3, 4, 5)).contiguous(memory_format=flambeau.channels_last)
    out = F.batch_norm(x, None, None, training=True)
    assert out.stride() == x.stride()
    np.testing.assert_allclose(
        out.numpy(),
        F.batch_norm(x.contiguous(), None, None, training=True).numpy(),
        rtol=1e-9,
        atol=1e-12,
    )


LOSSES = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": lambda a, b, reduction: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.7),
    "huber": lambda a, b, reduction: F.huber_loss(a, b, reduction=reduction, delta=0.7),
    "bce": lambda a, b, reduction: F.binary_cross_entropy(
        a.sigmoid(), b.sigmoid(), reduction=reduction
    ),
    "bce_logits": lambda a, b, reduction: F.binary_cross_entropy_with_logits(
        a, b.sigmoid(), reduction=reduction
    ),
    "kl": lambda a, b, reduction: F.kl_div(a, b.sigmoid(), reduction=reduction),
    "probabilities": lambda a, b, reduction: F.cross_entropy(a, b.softmax(1), reduction=reduction),
}


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_derivatives(name, reduction):
    def f(a, b):
        return LOSSES[name](a, b, reduction=reduction)

    inputs = tensor(normal(3, 4), True), tensor(normal(3, 4), True)
    assert gradcheck(f, inputs) and gradgradcheck(f, inputs)


@pytest.mark.parametrize("weight", [None, np.array([0.5, 1.0, 2.0, 0.1])])
@pytest.mark.parametrize("shape", [(5,), (2, 3)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(weight, shape, smoothing):
    x = normal(shape[0], 4, *shape[1:])
    target = RNG.integers(0, 4, shape)
    target.ravel()[1] = -100
    w = np.ones(4) if weight is None else weight
    logs = np.moveaxis(np.log(softmax(x, 1)), 1, -1).reshape(-1, 4)
    flat = target.ravel()
    used = flat >= 0
    picked = -logs[used, flat[used]] * w[flat[used]]
    spread = -(logs * w)[used].sum(1)
    expected = ((1 - smoothing) * picked + smoothing / 4 * spread).sum() / w[flat[used]].sum()
    args = (tensor(target), None if weight is None else tensor(weight))
    loss = F.cross_entropy(tensor(x), *args, label_smoothing=smoothing)
    np.testing.assert_allclose(float(loss), expected, rtol=1e-10)
    for reduction in ("mean", "sum", "none"):

        def f(t, reduction=reduction):
            return F.cross_entropy(t, *args, reduction=reduction, label_smoothing=smoothing)

        assert gradcheck(f, (tensor(x, True),)) and gradgradcheck(f, (tensor(x, True),))


def test_class_errors():
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.cross_entropy(flambeau.zeros(2, 3), flambeau.tensor([0, 7]))
    with pytest.raises(ValueError, match="Expected input batch_size"):
        F.nll_loss(flambeau.zeros(2, 3), flambeau.tensor([0, 1, 1]))
    with pytest.raises(RuntimeError, match="weight tensor should be defined"):
        F.nll_loss(flambeau.zeros(2, 3), flambeau.tensor([0, 1]), flambeau.ones(4))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        F.binary_cross_entropy(flambeau.tensor([1.5]), flambeau.tensor([1.0]))
    with pytest.raises(RuntimeError, match="Given normalized_shape"):
        F.layer_norm(flambeau.zeros(2, 3), (4,))


def test_cross_entropy_may_change_in_place():
    x = flambeau.tensor([[1.0, 2.0, 0.5]], requires_grad=True)
    loss = flambeau.nn.functional.cross_entropy(x, flambeau.tensor([1]))
    loss *= 2
    loss.backward()
    expected = 2 * (x.detach().softmax(1) - flambeau.tensor([[0.0, 1.0, 0.0]]))
    assert flambeau.allclose(x.grad, expected)
