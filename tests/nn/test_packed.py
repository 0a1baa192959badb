"""Packed and padded sequences: there and back, orders, conversions, gradients, errors."""

from __future__ import annotations

import copy
import pickle

import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

tensor = flambeau.tensor


def sequences(*lengths, features=2):
    return [flambeau.randn(n, features) for n in lengths]


def test_rows_step_by_step():
    padded = tensor([[[1.0], [10.0], [100.0]], [[2.0], [20.0], [0.0]], [[3.0], [0.0], [0.0]]])
    packed = pack_padded_sequence(padded, tensor([3, 2, 1]))
    assert packed.data.flatten().tolist() == [1, 10, 100, 2, 20, 3]
    assert packed.batch_sizes.tolist() == [3, 2, 1] and packed.batch_sizes.dtype == flambeau.int64
    assert packed.sorted_indices is None and packed.unsorted_indices is None
    same = pack_padded_sequence(padded.transpose(0, 1), [3, 2, 1], batch_first=True)
    assert flambeau.equal(same.data, packed.data)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_there_and_back(batch_first, shape):
    parts = [flambeau.randn(n, *shape) for n in (2, 5, 1, 5)]
    padded = pad_sequence(parts, batch_first)
    packed = pack_padded_sequence(padded, [2, 5, 1, 5], batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 2, 2, 2]
    back, lengths = pad_packed_sequence(packed, batch_first)
    assert flambeau.equal(back, padded) and lengths.tolist() == [2, 5, 1, 5]
    longer, _ = pad_packed_sequence(packed, batch_first, -1.0, total_length=7)
    rest = longer[:, 5:] if batch_first else longer[5:]
    assert rest.shape[1 if batch_first else 0] == 2 and (rest == -1).all()
    for got, want in zip(unpack_sequence(packed), parts):
        assert flambeau.equal(got, want)
    for got, want in zip(unpad_sequence(padded, lengths, batch_first), parts):
        assert flambeau.equal(got, want)


def test_pack_sequence():
    packed = pack_sequence([tensor([1, 2, 3]), tensor([4, 5]), tensor([6])])
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3] and packed.data.dtype == flambeau.int64
    packed = pack_sequence([tensor([6]), tensor([1, 2, 3]), tensor([4, 5])], enforce_sorted=False)
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]
    assert [s.tolist() for s in unpack_sequence(packed)] == [[6], [1, 2, 3], [4, 5]]


def test_pad_sequence():
    parts = [tensor([1, 2]), tensor([3, 4, 5])]
    assert pad_sequence(parts, True, 9).tolist() == [[1, 2, 9], [3, 4, 5]]
    assert pad_sequence(parts, True, 9, "left").tolist() == [[9, 1, 2], [3, 4, 5]]
    assert pad_sequence(iter(parts)).tolist() == [[1, 3], [2, 4], [0, 5]]
    assert pad_sequence(flambeau.ones(2, 3)).shape == (3, 2)
    assert pad_sequence(sequences(2, 3)).stride() == (4, 2, 1)
    assert pad_sequence([tensor([1.5]), tensor([2])]).dtype == flambeau.float32


def test_invert_permutation():
    assert invert_permutation(tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert invert_permutation(tensor([2, 0, 1], dtype=flambeau.int32)).dtype == flambeau.int32
    assert invert_permutation(None) is None


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}])
def test_a_packed_batch_is_each_sequence_alone(kind, options):
    m = getattr(nn, kind)(2, 4, **options)
    parts = sequences(3, 7, 1, 4)
    out, state = m(pack_sequence(parts, enforce_sorted=False))
    states = state if kind == "LSTM" else (state,)
    for i, (got, part) in enumerate(zip(unpack_sequence(out), parts)):
        want, alone = m(part)
        flambeau.testing.assert_close(got, want)
        for s, a in zip(states, alone if kind == "LSTM" else (alone,)):
            flambeau.testing.assert_close(s[:, i], a)


def test_states_are_in_the_order_of_the_batch():
    m = nn.LSTM(2, 4)
    parts = sequences(2, 3)
    h, c = flambeau.randn(1, 2, 4), flambeau.randn(1, 2, 4)
    _, (last, _) = m(pack_sequence(parts, enforce_sorted=False), (h, c))
    for i, part in enumerate(parts):
        flambeau.testing.assert_close(m(part, (h[:, i], c[:, i]))[1][0], last[:, i])


def test_conversions():
    packed = pack_sequence(sequences(2, 3), enforce_sorted=False)
    assert packed.to(flambeau.float32) is packed and packed.cpu() is packed
    assert packed.float() is packed and not packed.is_cuda and not packed.is_pinned()
    assert packed.to("cpu", flambeau.float64).data.dtype == flambeau.float64
    for name, dtype in {
        "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
        "char": "int8", "byte": "uint8",
    }.items():  # fmt: skip
        other = getattr(packed, name)()
        assert type(other) is PackedSequence and other.data.dtype == getattr(flambeau, dtype)
        assert other.sorted_indices is packed.sorted_indices
    meta = packed.to("meta")
    assert meta.data.device.type == meta.sorted_indices.device.type == "meta"
    assert meta.batch_sizes.device.type == "cpu"


def test_is_a_named_tuple():
    packed = pack_sequence(sequences(3, 2))
    data, batch_sizes, order, back = packed
    assert data is packed.data and order is back is None
    assert packed._fields == ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
    assert repr(packed).startswith("PackedSequence(data=tensor(")
    for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert type(other) is PackedSequence and flambeau.equal(other.data, data)
    given = PackedSequence(data, batch_sizes, tensor([1, 0, 2]))
    assert given.unsorted_indices.tolist() == [1, 0, 2]
    assert PackedSequence((data, batch_sizes)).batch_sizes is batch_sizes


def test_gradients():
    x = flambeau.randn(4, 3, 2, dtype=flambeau.float64, requires_grad=True)
    packed = pack_padded_sequence(x, [4, 2, 1])
    assert packed.data.grad_fn.name() == "PackPaddedSequenceBackward0"
    (pad_packed_sequence(packed)[0] * 2).sum().backward()
    keeps = flambeau.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]])
    assert flambeau.equal(x.grad, 2.0 * keeps[..., None].expand(4, 3, 2).double())

    def run(x, order):
        packed = pack_padded_sequence(x, order, True, enforce_sorted=False)
        return packed.data.sin(), pad_packed_sequence(packed, True, 3.0, 5)[0].sin()

    x = flambeau.randn(3, 4, 2, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(lambda x: run(x, [2, 4, 1]), [x])
    assert gradgradcheck(lambda x: run(x, [2, 4, 1]), [x])
    parts = [flambeau.randn(n, 2, dtype=flambeau.float64, requires_grad=True) for n in (2, 3)]
    assert gradcheck(lambda *p: pad_sequence(p, padding_side="left"), parts)


def test_errors():
    x = flambeau.randn(4, 3, 2)
    for lengths, text in (
        ([2, 4, 1], "sorted in decreasing order"),
        ([4, 2, 0], "greater than 0"),
        ([4, 2], "equal to batch_size, but got 2"),
        ([5, 2, 1], "exceeds the 4 steps"),
        ([[4, 2, 1]], "1D CPU int64"),
        (4, "1D CPU int64"),
    ):
        with pytest.raises(RuntimeError, match=text):
            pack_padded_sequence(x, tensor(lengths))
    assert pack_padded_sequence(x, tensor([4.0, 2.0, 1.0])).batch_sizes.tolist() == [3, 2, 1, 1]
    for empty in (x[:0], x[:, :0]):
        with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
            pack_padded_sequence(empty, tensor([1, 1, 1]))
    with pytest.raises(IndexError):
        pack_padded_sequence(x[0, 0], tensor([1, 1]))
    packed = pack_padded_sequence(x, tensor([4, 2, 1]))
    with pytest.raises(ValueError, match="total_length=3 and max sequence length being 4"):
        pad_packed_sequence(packed, total_length=3)
    with pytest.raises(RuntimeError, match="total_length=3"):
        flambeau._VF._pad_packed_sequence(*packed[:2], False, 0.0, 3)
    for sizes in ([3, 2, 1], [3, 4], [8, -1], [], [1, 2, 4]):
        with pytest.raises(RuntimeError):
            sizes = tensor(sizes, dtype=flambeau.int64)
            flambeau._pad_packed_sequence(packed.data, sizes, False, 0.0, 0)
    with pytest.raises(AttributeError, match="batch_sizes"):
        pad_packed_sequence(x)
    for nothing in (pack_sequence, pad_sequence):
        with pytest.raises(RuntimeError, match="empty list"):
            nothing([])
    with pytest.raises(RuntimeError, match="iterable"):
        pad_sequence(3)
    with pytest.raises(RuntimeError, match="left or right, but got middle"):
        pad_sequence(sequences(1, 2), padding_side="middle")
    with pytest.raises(RuntimeError):
        pad_sequence([flambeau.ones(2, 3), flambeau.ones(3, 2)])
    with pytest.raises(RuntimeError):
        pad_sequence([tensor(1.0), flambeau.ones(3)])
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        pack_sequence(sequences(2, 3))
    with pytest.raises(AssertionError, match="length 2"):
        PackedSequence(x)
    with pytest.raises(ValueError, match="always be on CPU"):
        PackedSequence(x, tensor([1]).to("meta"))
