"""Sequences of different lengths: padded to one tensor, or packed without the padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from flambeau._C import Tensor, int64, ops
from flambeau._factory import tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The rows of a batch of sequences, step by step, the longest sequence first.

    It comes from `pack_padded_sequence` and `pack_sequence`, and goes into recurrent modules.

    Attributes:
        data: the rows of the first step, then those of the second, and so on.
        batch_sizes: how many rows each step has; int64, on the CPU.
        sorted_indices: where in the original order each sequence stood; None if it was sorted.
        unsorted_indices: the inverse of that permutation.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            assert isinstance(data, (list, tuple)) and len(data) == 2, (
                "Expected data to be a list or tuple of length 2"
            )
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                f"pack_padded_sequence in nn.utils.rnn. Got one on {batch_sizes.device}."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same with `Tensor.to` applied to ``data``; the indices follow to its device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = {k: v for k, v in kwargs.items() if k in ("non_blocking", "copy")}

        def follow(indices):
            return None if indices is None else indices.to(data.device, **moved)

        return type(self)(
            data, self.batch_sizes, follow(self.sorted_indices), follow(self.unsorted_indices)
        )

    def pin_memory(self):
        """The same in page-locked memory."""

        def pinned(t):
            return None if t is None else t.pin_memory()

        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            pinned(self.sorted_indices),
            pinned(self.unsorted_indices),
        )

    def is_pinned(self):
        """Whether ``data`` lies in page-locked memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether ``data`` is on a CUDA device."""
        return self.data.is_cuda

    def cuda(self, *args, **kwargs):
        if not args and "device" not in kwargs:
            kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        if not args and "device" not in kwargs:
            kwargs["device"] = "cpu"
        return self.to(*args, **kwargs)

    def double(self):
        return self._with_data(self.data.double())

    def float(self):
        return self._with_data(self.data.float())

    def half(self):
        return self._with_data(self.data.half())

    def long(self):
        return self._with_data(self.data.long())

    def int(self):
        return self._with_data(self.data.int())

    def short(self):
        return self._with_data(self.data.short())

    def char(self):
        return self._with_data(self.data.char())

    def byte(self):
        return self._with_data(self.data.byte())

    def _with_data(self, data):
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)


def invert_permutation(permutation):
    """The permutation that undoes another; None for None.

    Example:
        >>> nn.utils.rnn.invert_permutation(flambeau.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = ops.arange(0, permutation.numel(), device=permutation.device)
    return ops.empty_like(permutation).scatter_(0, permutation, positions.to(permutation.dtype))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a padded batch of sequences.

    Args:
        input: (time, batch, …), or (batch, time, …) with ``batch_first``.
        lengths: a list or CPU tensor of each sequence's length.
        enforce_sorted: demands that the lengths fall; otherwise the sequences are sorted here.

    Raises:
        RuntimeError: an empty input, a length that is not positive or exceeds the time, or lengths
            out of order.

    Example:
        >>> padded = flambeau.tensor([[1, 3, 6], [2, 4, 0]])
        >>> nn.utils.rnn.pack_padded_sequence(padded, [2, 2, 1]).data
        tensor([1, 3, 6, 2, 4])
    """
    if not isinstance(lengths, Tensor):
        lengths = tensor(lengths, dtype=int64)
    elif lengths.dtype != int64:
        lengths = lengths.to(int64)
    order = None
    if not enforce_sorted:
        lengths, order = ops.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = ops._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The padded batch that a packed one stands for, and the lengths.

    Args:
        sequence: a `PackedSequence`.
        batch_first: whether the result is (batch, time, …) instead of (time, batch, …).
        padding_value: what the padding holds.
        total_length: the least number of steps; None for that of the longest sequence.

    Raises:
        ValueError: ``total_length`` is less than the longest sequence.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = ops._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stacks tensors of different lengths, the shorter ones padded.

    Args:
        sequences: tensors that differ in the first dimension only.
        batch_first: whether the result is (batch, time, …) instead of (time, batch, …).
        padding_value: what the padding holds.
        padding_side: "right" or "left" of the elements.

    Example:
        >>> nn.utils.rnn.pad_sequence([flambeau.ones(2), flambeau.ones(3)], batch_first=True)
        tensor([[1., 1., 0.],
                [1., 1., 1.]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    first = sequences[0]
    if any(s.dim() == 0 for s in sequences):
        raise RuntimeError("pad_sequence: expected sequences of at least 1 dimension, but got 0-d")
    longest = max(s.size(0) for s in sequences)
    rest = first.shape[1:]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = ops.full((*shape, *rest), padding_value, dtype=first.dtype, device=first.device)
    for i, s in enumerate(sequences):
        place = out.select(0 if batch_first else 1, i)
        n = s.size(0)
        place.narrow(0, longest - n if padding_side == "left" else 0, n).copy_(s)
    return out


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The list of sequences that a padded batch was made of.

    Args:
        padded_sequences: (time, batch, …), or (batch, time, …) with ``batch_first``.
        lengths: a tensor of each sequence's length.
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    longest = padded_sequences.shape[1]
    steps = ops.arange(longest, device=lengths.device)
    return [seq[steps < length] for seq, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences of different lengths.

    Args:
        sequences: tensors that differ in the first dimension only.
        enforce_sorted: demands that the lengths fall; otherwise the sequences are sorted here.

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([flambeau.tensor([1, 2]), flambeau.tensor([3])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 3, 2]), tensor([2, 1]))
    """
    lengths = tensor([s.size(0) for s in sequences], dtype=int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences that a `PackedSequence` was made of."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
