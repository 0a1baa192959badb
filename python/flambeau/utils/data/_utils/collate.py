"""Collation: lists of samples to batches.

NumPy is looked at only when the program has imported it.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

from flambeau._C import Tensor, _uniform, float64, ops, strided
from flambeau._factory import as_tensor
from flambeau._factory import tensor as make_tensor

from .worker import in_worker, shared_empty

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # dtypes that no tensor has
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _numpy():
    return sys.modules.get("numpy")


def default_convert(data):
    """Turns NumPy arrays into tensors, at any depth of a sample; other things stay.

    >>> default_convert({"a": 1})
    {'a': 1}
    """
    if isinstance(data, Tensor):
        return data
    np = _numpy()
    if np is not None and isinstance(data, np.ndarray | np.generic):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(data[key]) for key in data})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _rebuild_sequence(data, [default_convert(value) for value in data])
    return data


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _rebuild_mapping(like, items):
    """A mapping of the type of `like`; a dict where that type cannot be made so."""
    try:
        if isinstance(like, MutableMapping):
            # A copy keeps what else the object holds.
            clone = copy.copy(like)
            clone.update(items)
            return clone
        return type(like)(items)
    except TypeError:
        return items


def _rebuild_sequence(like, values):
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(like)(values)
    except TypeError:
        return values


def collate(batch, *, collate_fn_map=None):
    """Turns a list of samples into a batch of the same structure.

    Args:
        batch: samples, all of one structure.
        collate_fn_map: functions `f(batch, *, collate_fn_map)` for types, or tuples of types.
    """
    elem = batch[0]
    if collate_fn_map is not None:
        function = _find(collate_fn_map, elem)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        items = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in elem
        }
        return _rebuild_mapping(elem, items)
    if not isinstance(elem, Sequence):
        raise TypeError(default_collate_err_msg_format.format(type(elem)))
    if not _is_namedtuple(elem) and any(len(sample) != len(elem) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    if _is_namedtuple(elem):
        return type(elem)(*columns)
    return columns if isinstance(elem, tuple) else _rebuild_sequence(elem, columns)


def _find(collate_fn_map, elem):
    function = collate_fn_map.get(type(elem))
    if function is not None:
        return function
    for types, candidate in collate_fn_map.items():
        if isinstance(elem, types):
            return candidate
    np = _numpy()
    if np is not None and collate_fn_map is default_collate_fn_map:
        if isinstance(elem, np.ndarray):
            return collate_numpy_array_fn
        if isinstance(elem, np.generic):
            return collate_numpy_scalar_fn
    return None


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks tensors along a new first axis; in a worker, in memory that the main process maps."""
    batch = list(batch)
    if batch[0].layout is not strided:
        raise RuntimeError(
            "Batches of sparse tensors are not supported by the default collate_fn: give a "
            "collate_fn of your own"
        )
    if in_worker() and _uniform(batch) and batch[0].layout is strided:
        out = shared_empty((len(batch), *batch[0].shape), batch[0].dtype)
        if out is not None:
            return ops.stack(batch, 0, out=out)
    return ops.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stacks NumPy arrays as tensors."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate_tensor_fn([as_tensor(array) for array in batch])


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """A tensor of NumPy numbers."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return ops.stack([as_tensor(value) for value in batch], 0)


def collate_float_fn(batch, *, collate_fn_map=None):
    """A float64 tensor of Python floats."""
    return make_tensor(list(batch), dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """A tensor of Python integers or bools."""
    return make_tensor(list(batch))


def collate_str_fn(batch, *, collate_fn_map=None):
    """Strings stay as they are."""
    return batch


# Programs add their own types here. NumPy's are found without an entry.
default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """Turns a list of samples into a batch: numbers to tensors, tensors stacked, by structure.

    Errors: `TypeError` for samples of other types, `RuntimeError` for lengths that differ.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
