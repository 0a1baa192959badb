"""Lists of tensors by device and dtype."""

from __future__ import annotations


def _get_foreach_kernels_supported_devices():
    return ["cpu"]


def _get_fused_kernels_supported_devices():
    return ["cpu"]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of tensors cut into those whose tensors in the first list share device and dtype."""
    groups: dict = {}
    for at, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for part, tensors in zip(lists, tensorlistlist):
            part.append(tensors[at] if tensors else None)
        indices.append(at)
    return groups


def _device_has_foreach_support(device):
    return device.type == "cpu"


def _has_foreach_support(tensors, device):
    return _device_has_foreach_support(device)
