"""Bags of table rows against a loop; the root's form; options of the linear cross entropy."""

from __future__ import annotations

import pickle
import random

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F


def reference(weight, indices, starts, mode, factors, padding):
    """Each bag by a loop over its indices."""
    bags = []
    for first, last in zip(starts, [*starts[1:], len(indices)]):
        kept = [i for i in range(first, last) if indices[i] != padding]
        rows = [weight[indices[i]] * (1 if factors is None else factors[i]) for i in kept]
        if not rows:
            bags.append(weight[0] * 0)
        elif mode == "max":
            bags.append(flambeau.stack(rows).max(0)[0])
        else:
            total = flambeau.stack(rows).sum(0)
            bags.append(total / len(rows) if mode == "mean" else total)
    return flambeau.stack(bags)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("last", [False, True])
def test_against_loop(mode, padding, last):
    draw = random.Random(5)
    for count in (0, 1, 7, 12):
        weight = flambeau.randn(5, 3, dtype=flambeau.float64, requires_grad=True)
        indices = [draw.randrange(5) for _ in range(count)]
        starts = sorted([0, *(draw.randint(0, count) for _ in range(3))])
        factors = None
        if mode == "sum":
            factors = flambeau.randn(count, dtype=flambeau.float64, requires_grad=True)
        out = F.embedding_bag(
            flambeau.tensor(indices, dtype=flambeau.int64),
            weight,
            flambeau.tensor([*starts, count] if last else starts),
            mode=mode,
            per_sample_weights=factors,
            include_last_offset=last,
            padding_idx=padding,
        )
        expected = reference(weight, indices, starts, mode, factors, padding)
        flambeau.testing.assert_close(out, expected)
        leaves = [weight] if factors is None else [weight, factors]
        probe = flambeau.randn(out.shape, dtype=flambeau.float64)
        grads = flambeau.autograd.grad((out * probe).sum(), leaves)
        wanted = flambeau.autograd.grad(
            (expected * probe).sum(), leaves, allow_unused=True, materialize_grads=True
        )
        for got, want in zip(grads, wanted):
            flambeau.testing.assert_close(got, want)


def test_rows_of_indices():
    weight = flambeau.randn(5, 2)
    index = flambeau.tensor([[0, 1, 1], [4, 0, 2]], dtype=flambeau.int32)
    flambeau.testing.assert_close(F.embedding_bag(index, weight), weight[index.long()].mean(1))
    nothing = F.embedding_bag(index[:, :0], weight, mode="max")
    assert nothing.tolist() == [[0.0, 0.0]] * 2


def test_gradients_by_frequency():
    weight = flambeau.ones(3, 1, requires_grad=True)
    bags = F.embedding_bag(
        flambeau.tensor([0, 0, 2]),
        weight,
        flambeau.tensor([0, 2]),
        mode="sum",
        scale_grad_by_freq=True,
    )
    bags.sum().backward()
    assert weight.grad.tolist() == [[1.0], [0.0], [1.0]]


def test_offsets_are_checked():
    weight, index = flambeau.ones(4, 1), flambeau.tensor([0, 1, 2])
    for offsets, options, message in [
        ([1, 2], {}, r"offsets\[0\] has to be 0"),
        ([0, 4], {}, r"offsets\[-1\] can not be greater than input's length 3"),
        ([0, 2, 1], {}, "offsets must not decrease"),
        ([], {"include_last_offset": True}, "number of offsets should be at least 1"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            F.embedding_bag(
                index, weight, flambeau.tensor(offsets, dtype=flambeau.int64), **options
            )
    with pytest.raises(RuntimeError, match="index out of range"):
        F.embedding_bag(index + 2, weight, flambeau.tensor([0]))
    with pytest.raises(RuntimeError, match="indices and offsets must be of scalar types"):
        F.embedding_bag(index, weight, flambeau.tensor([0.0]))


def test_root_function():
    table = flambeau.arange(12.0).reshape(4, 3)
    index, offsets = flambeau.tensor([0, 1, 2, 3]), flambeau.tensor([0, 2, 2])
    bags, bag_of, counts, largest = flambeau.embedding_bag(table, index, offsets)
    assert bags[:, 0].tolist() == [3.0, 0.0, 15.0]
    assert bag_of.tolist() == [] and counts.tolist() == largest.tolist() == [0, 0, 0]
    bags, bag_of, counts, largest = flambeau.embedding_bag(table, index, offsets, mode=1)
    assert bags[:, 0].tolist() == [1.5, 0.0, 7.5]
    assert bag_of.tolist() == [0, 0, 2, 2] and counts.tolist() == largest.tolist() == [2, 0, 2]
    bags, _, counts, largest = flambeau.embedding_bag(table, index, offsets, mode=2, padding_idx=1)
    assert bags[:, 0].tolist() == [0.0, 0.0, 9.0] and counts.tolist() == [1, 0, 2]
    assert largest.tolist() == [[0] * 3, [0] * 3, [3] * 3]
    with pytest.raises(RuntimeError, match="`mode` must be sum, mean, or max"):
        flambeau.embedding_bag(table, index, offsets, mode=3)
    with pytest.raises(RuntimeError, match="per_sample_weights only supported with mode='sum'"):
        flambeau.embedding_bag(table, index, offsets, mode=1, per_sample_weights=table[0])
    with pytest.raises(RuntimeError, match="must be within the number of embeddings, -4 through 3"):
        flambeau.embedding_bag(table, index, offsets, padding_idx=4)


def test_linear_cross_entropy_options():
    options = nn.LinearCrossEntropyOptions(True, batch_chunk_size=3)
    assert options.allow_retain_graph is True and options.chunking_method == "auto"
    assert repr(options) == (
        "LinearCrossEntropyOptions(allow_retain_graph=True, batch_chunk_size=3, "
        "chunking_method='auto', acc_policy='auto', acc_dtype=None)"
    )
    assert options == pickle.loads(pickle.dumps(options)) != nn.LinearCrossEntropyOptions()
    with pytest.raises(AttributeError):
        options.acc_policy = "auto"
    layer = nn.LinearCrossEntropyLoss(3, 4, options=options)
    x, y = flambeau.randn(2, 3), flambeau.tensor([0, 3])
    flambeau.testing.assert_close(layer(x, y), F.cross_entropy(layer.linear(x), y))
    for wrong, message in [
        ({"batch_chunk_size": 0}, "batch_chunk_size must be positive int or None, got 0"),
        ({"acc_policy": "x"}, "invalid acc_policy: 'x'"),
        ({"chunking_method": "aspect_ratio:x"}, "invalid chunking_method: 'aspect_ratio:x'"),
        ({"acc_dtype": flambeau.int32}, "acc_dtype must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            nn.LinearCrossEntropyOptions(**wrong)
