"""The adaptive softmax: its probabilities against the definition."""

from __future__ import annotations

import copy

import pytest

import flambeau
from flambeau import nn


def make(**options):
    return nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4, 7], div_value=2.0, **options)


def expected_log_prob(m, x):
    """A class of the head, or the cluster's probability times the class's inside it."""
    head = m.head(x).softmax(1)
    parts = [head[:, : m.shortlist_size]]
    for i, cluster in enumerate(m.tail):
        inside = cluster(x).softmax(1)
        parts.append(head[:, m.shortlist_size + i : m.shortlist_size + i + 1] * inside)
    return flambeau.cat(parts, 1).log()


@pytest.mark.parametrize("head_bias", [False, True])
def test_values_and_gradients(head_bias):
    m = make(head_bias=head_bias, dtype=flambeau.float64)
    x = flambeau.randn(6, 8, dtype=flambeau.float64, requires_grad=True)
    target = flambeau.tensor([0, 3, 4, 6, 7, 11])
    expected = expected_log_prob(m, x)
    flambeau.testing.assert_close(m.log_prob(x), expected)
    flambeau.testing.assert_close(expected.exp().sum(1), flambeau.ones(6, dtype=flambeau.float64))
    chosen = expected[flambeau.arange(6), target]
    out = m(x, target)
    flambeau.testing.assert_close(out.output, chosen)
    flambeau.testing.assert_close(out.loss, -chosen.mean())
    leaves = [x, *m.parameters()]
    grads = flambeau.autograd.grad(out.loss, leaves)
    for got, want in zip(grads, flambeau.autograd.grad(-chosen.mean(), leaves)):
        flambeau.testing.assert_close(got, want)
    one = m(x[2], target[2])
    assert one.output.shape == () and float(one.output) == pytest.approx(float(chosen[2]))


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_predict(scale):
    m = make()
    x = flambeau.randn(40, 8) * scale
    assert m.predict(x).tolist() == m.log_prob(x).argmax(1).tolist()


def test_predict_of_one_kind():
    m = make(head_bias=True)
    x = flambeau.randn(5, 8) * 0.01
    with flambeau.no_grad():
        m.head.bias.copy_(flambeau.tensor([0.0, 9, 0, 0, 0, 0]))
        assert m.predict(x).tolist() == [1] * 5
        m.head.bias.copy_(flambeau.tensor([0.0, 0, 0, 0, 0, 99]))
        assert all(c >= 7 for c in m.predict(x).tolist())


def test_layout():
    m = make()
    assert (m.shortlist_size, m.n_clusters, m.head_size, m.cutoffs) == (4, 2, 6, [4, 7, 12])
    shapes = {k: tuple(v.shape) for k, v in m.state_dict().items()}
    assert shapes == {
        "head.weight": (6, 8),
        "tail.0.0.weight": (4, 8),
        "tail.0.1.weight": (3, 4),
        "tail.1.0.weight": (2, 8),
        "tail.1.1.weight": (5, 2),
    }
    before = [p.tolist() for p in m.parameters()]
    flambeau.manual_seed(7)
    m.reset_parameters()
    assert [p.tolist() for p in m.parameters()] != before
    x, y = flambeau.randn(3, 8), flambeau.tensor([1, 5, 9])
    assert copy.deepcopy(m)(x, y).loss.tolist() == m(x, y).loss.tolist()
    empty = m(x[:0], y[:0])
    assert empty.output.shape == (0,) and bool(empty.loss.isnan())


@pytest.mark.parametrize("cutoffs", [[5, 5], [5, 3], [0, 3], [12], [2.5], [-1]])
def test_wrong_cutoffs(cutoffs):
    with pytest.raises(ValueError, match="unique, positive integers sorted in an increasing"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)


def test_errors():
    m, x = make(), flambeau.ones(2, 8)
    with pytest.raises(ValueError, match="a sequence of length larger than 0"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 12, [])
    for bad, shown in (([0, 12], r"\[0, 12\]"), ([-1, 3], r"\[-1, 3\]")):
        with pytest.raises(RuntimeError, match=rf"in \[0, 11\], but values in range {shown}"):
            m(x, flambeau.tensor(bad))
    one = flambeau.tensor(1)
    for input, target, message in [
        (x, flambeau.tensor([1]), "same size in the batch dimension"),
        (x[None], flambeau.tensor([1]), "1D target tensor expects 2D input"),
        (x, one, "0D target tensor expects 1D input"),
        (x, flambeau.tensor([[1], [2]]), "0D or 1D target tensor expected"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            m(input, target)
