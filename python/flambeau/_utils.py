"""Functions that PyTorch's pickles name (`torch._utils._rebuild_…`), for `pickle.load`.

`flambeau.load` has no need of this module; plain pickles of tensors and parameters, which PyTorch
wrote and a program reads under ``flambeau run``, look their functions up here. `ExceptionWrapper`
has its PyTorch name here.
"""

from __future__ import annotations

from . import _C
from ._C import ops
from ._exception_wrapper import ExceptionWrapper as ExceptionWrapper
from ._exception_wrapper import KeyErrorMessage as KeyErrorMessage
from .serialization._rebuild import REBUILD

for _name, _reference in REBUILD.items():
    if _name.startswith("torch._utils."):
        globals()[_name.rpartition(".")[2]] = _reference.call


def _flatten_dense_tensors(tensors):
    """The elements of tensors in one."""
    return ops.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Parts of a tensor in the shapes of others."""
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view(t.shape))
        at += t.numel()
    return tuple(parts)


def _reorder_tensors_as(tensors, ordered_tensors):
    """Tensors in the order that others have by type."""
    groups: dict = {}
    for t in tensors:
        groups.setdefault(t.type(), []).append(t)
    queues = {kind: iter(group) for kind, group in groups.items()}
    return tuple(next(queues[t.type()]) for t in ordered_tensors)


def _take_tensors(tensors, size_limit):
    """Groups of tensors of one type, of some bytes each."""
    open_groups: dict = {}
    for t in tensors:
        group = open_groups.setdefault(t.type(), [[], 0])
        size = t.numel() * t.element_size()
        if group[0] and group[1] + size > size_limit:
            yield group[0]
            group[:] = [[], 0]
        group[0].append(t)
        group[1] += size
    for group, _ in open_groups.values():
        if group:
            yield group


def _element_size(dtype):
    """The bytes of an element."""
    return dtype.itemsize


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of a device of another kind than the CPU; -1 for the CPU where it is allowed."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
        if index is not None:
            return index
    if optional:
        return 0
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got:{device}"
    )


def _get_available_device_type():
    """The type of the devices beside the CPU: None, as there are none."""
    return


def _get_all_device_indices():
    """The devices beside the CPU."""
    return []


def _get_current_device_index():
    """The current device beside the CPU, or -1."""
    return -1


def _import_dotted_name(name):
    """What a dotted name stands for."""
    import importlib

    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for part in parts[1:]:
        found = getattr(found, part)
    return found


def is_compiling():
    """Whether the code runs to be compiled: never."""
    return False


def _is_privateuse1_backend_available():
    return False


class CallbackRegistry:
    """Functions that are called together."""

    def __init__(self, name):
        self.name, self.callback_list = name, []

    def add_callback(self, cb):
        """Adds a function."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args, **kwargs):
        """Calls the functions."""
        for cb in self.callback_list:
            cb(*args, **kwargs)


def render_call(fn, args, kwargs):
    """A call as text."""
    name = getattr(fn, "__name__", repr(fn))
    parts = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    return f"torch.{name}({', '.join(parts)})"
