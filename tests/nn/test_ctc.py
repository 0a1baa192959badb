"""CTC loss against the sum over all paths, its derivatives, and fractional max pooling."""

import itertools
import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import gradcheck
from flambeau.nn import functional as F

RNG = np.random.default_rng(0)


def tensor(array):
    return flambeau.from_numpy(np.ascontiguousarray(array))


def log_probs(*shape):
    x = RNG.standard_normal(shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_all_paths(lp, target, blank):
    """Minus the logarithm of the probability of all paths that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(lp.shape[1]), repeat=lp.shape[0]):
        collapsed = [c for c, _ in itertools.groupby(path) if c != blank]
        if collapsed == list(target):
            total += math.exp(sum(lp[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_value_is_the_sum_over_paths(blank):
    lp = log_probs(5, 4, 3)
    labels = [c for c in range(3) if c != blank]
    a, b = labels
    targets = np.array([[a, b, 0], [a, a, b], [b, 0, 0], [0, 0, 0]])
    frames, lengths = [5, 4, 3, 5], [2, 3, 1, 0]
    want = [
        by_all_paths(lp[:f, i], targets[i, :n], blank)
        for i, (f, n) in enumerate(zip(frames, lengths))
    ]
    got = F.ctc_loss(tensor(lp), tensor(targets), frames, lengths, blank, "none")
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    joined = np.concatenate([targets[i, :n] for i, n in enumerate(lengths)])
    given = (tensor(np.array(frames)), tensor(np.array(lengths, np.int32)))
    got = F.ctc_loss(tensor(lp), tensor(joined), *given, blank, "none")
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    mean = np.mean([w / max(n, 1) for w, n in zip(want, lengths)])
    got = nn.CTCLoss(blank)(tensor(lp), tensor(targets), frames, lengths)
    np.testing.assert_allclose(float(got), mean, rtol=1e-12)
    got = F.ctc_loss(tensor(lp), tensor(targets), frames, lengths, blank, "sum")
    np.testing.assert_allclose(float(got), sum(want), rtol=1e-12)
    got = F.ctc_loss(tensor(lp[:, 0]), tensor(targets[0, :2]), (5,), (2,), blank, "none")
    np.testing.assert_allclose(float(got), want[0], rtol=1e-12)


def test_derivative():
    x = tensor(RNG.standard_normal((6, 3, 4))).requires_grad_()
    targets = tensor(np.array([[1, 1, 2], [3, 2, 1], [2, 0, 0]]))

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), targets, (6, 5, 4), (3, 2, 1), reduction="none")

    assert gradcheck(loss, (x,))


def test_targets_that_do_not_fit():
    lp = tensor(log_probs(2, 2, 3)).requires_grad_()
    targets, lengths = tensor(np.array([[1, 1], [1, 2]])), (2, 2)
    loss = F.ctc_loss(lp, targets, (2, 2), lengths, reduction="none")
    assert math.isinf(loss[0]) and math.isfinite(loss[1])
    loss = F.ctc_loss(lp, targets, (2, 2), lengths, reduction="none", zero_infinity=True)
    assert float(loss[0]) == 0
    loss.sum().backward()
    assert lp.grad[:, 0].eq(0).all() and lp.grad[:, 1].ne(0).any()
    empty = F.ctc_loss(lp, targets, (0, 0), (0, 1), reduction="none")
    assert empty.tolist() == [0, math.inf]


def test_long_sequences_do_not_underflow():
    lp = flambeau.full((2000, 1, 5), -math.log(5))
    targets = flambeau.arange(300).remainder(4).add(1)[None]
    loss = F.ctc_loss(lp, targets, (2000,), (300,), reduction="none")
    assert 0 < float(loss) < 2000 * math.log(5)


def test_errors():
    lp, targets = tensor(log_probs(5, 2, 4)), tensor(np.array([[1, 2], [3, 1]]))
    for call, kind, text in [
        (lambda: F.ctc_loss(lp, targets, (6, 5), (2, 2)), RuntimeError, "value at most 5"),
        (lambda: F.ctc_loss(lp, targets, (5, 5), (3, 2)), RuntimeError, "size at least 3 at dim"),
        (lambda: F.ctc_loss(lp, targets, (5,), (2, 2)), RuntimeError, "must be of size batch_size"),
        (lambda: F.ctc_loss(lp, targets, (5, 5), (2,)), RuntimeError, "must be of size batch_size"),
        (lambda: F.ctc_loss(lp, targets, (5, 5), (-1, 2)), RuntimeError, "value at least 0"),
        (lambda: F.ctc_loss(lp, targets, (5, 5), (2, 2), 4), RuntimeError, "blank must be in"),
        (lambda: F.ctc_loss(lp, targets + 9, (5, 5), (2, 2)), RuntimeError, "targets must be in"),
        (lambda: F.ctc_loss(lp.half(), targets, (5, 5), (2, 2)), NotImplementedError, "float16"),
        (lambda: F.ctc_loss(lp[0, 0], targets, (5, 5), (2, 2)), RuntimeError, "3-dimensional"),
        (lambda: F.ctc_loss(lp, targets.view(-1), (5, 5), (2, 1)), RuntimeError, "to have size 3"),
        (lambda: F.ctc_loss(lp, targets, (5, 5), (2, 2), 0, "bad"), ValueError, "not a valid"),
        (
            lambda: F.ctc_loss(lp, targets, flambeau.ones(2), flambeau.ones(2)),
            RuntimeError,
            "input_lengths must be integral",
        ),
    ]:
        with pytest.raises(kind, match=text):
            call()


# ---- fractional max pooling ----------------------------------------------------------------------


def starts(sample, size, out, kernel):
    alpha = (size - kernel) / (out - 1) if out > 1 else 0
    first = [int((i + sample) * alpha) - int(sample * alpha) for i in range(out - 1)]
    return [*first, size - kernel]


def test_fractional_pooling():
    x = RNG.standard_normal((1, 1, 6, 9))
    samples = tensor(np.array([[[0.1, 0.8]]]))
    out, at = F.fractional_max_pool2d(
        tensor(x), 2, (3, 4), return_indices=True, _random_samples=samples
    )
    rows, columns = starts(0.8, 6, 3, 2), starts(0.1, 9, 4, 2)
    want = [[x[0, 0, r : r + 2, c : c + 2].max() for c in columns] for r in rows]
    np.testing.assert_array_equal(out[0, 0].numpy(), want)
    np.testing.assert_array_equal(x.reshape(-1)[at.numpy()], out.numpy())
    x = RNG.standard_normal((5, 6, 9))
    samples = tensor(np.array([[[0.1, 0.5, 0.8]]]))
    out = F.fractional_max_pool3d(tensor(x[None]), 2, (3, 3, 4), _random_samples=samples)
    places = [starts(0.1, 5, 3, 2), starts(0.5, 6, 3, 2), starts(0.8, 9, 4, 2)]
    want = [
        [[x[i : i + 2, j : j + 2, k : k + 2].max() for k in places[2]] for j in places[1]]
        for i in places[0]
    ]
    np.testing.assert_array_equal(out[0].numpy(), want)
    assert gradcheck(
        lambda t: F.fractional_max_pool3d(t, 2, (3, 3, 4), _random_samples=samples),
        (tensor(x[None]).requires_grad_(),),
    )


def test_fractional_pooling_modules_and_errors():
    x = flambeau.ones(2, 3, 8, 8)
    assert nn.FractionalMaxPool2d(2, output_ratio=0.5)(x).shape == (2, 3, 4, 4)
    out, at = nn.FractionalMaxPool3d(2, 3, return_indices=True)(flambeau.ones(2, 4, 8, 8))
    assert out.shape == at.shape == (2, 3, 3, 3)
    for call, kind, text in [
        (lambda: nn.FractionalMaxPool2d(2), ValueError, "requires specifying either"),
        (lambda: nn.FractionalMaxPool2d(2, 3, 0.5), ValueError, "only one of output_size"),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=2.0), ValueError, "between 0 and 1"),
        (lambda: F.fractional_max_pool2d(x, 2), ValueError, "requires specifying either"),
        (lambda: F.fractional_max_pool2d(x, 9, 3), RuntimeError, "too large relative to input"),
        (
            lambda: F.fractional_max_pool2d(x, 2, 3, _random_samples=flambeau.ones(2, 3, 3)),
            RuntimeError,
            r"Expect _random_samples.size\(2\)",
        ),
    ]:
        with pytest.raises(kind, match=text):
            call()
