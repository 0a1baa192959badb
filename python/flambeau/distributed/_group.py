"""Process groups of one process, and how they start and end."""

from __future__ import annotations

import datetime
import os
from enum import Enum
from typing import Any

from flambeau import _C
from flambeau._absent import missing

from ._store import HashStore, Store

default_pg_timeout = datetime.timedelta(seconds=1800)
_PART = "groups of several processes"


class Backend(str):
    """The name of a library that moves data between processes, in lower case.

    Example:
        >>> Backend("GLOO") == Backend.GLOO
        True
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"
    FAKE = "fake"
    backend_list = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    default_device_backend_map = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_capability = {"gloo": ["cpu"], "nccl": ["cuda"], "ucc": ["cpu", "cuda"]}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """Adds a library of several processes; there are none yet."""
        raise missing("torch.distributed.Backend.register_backend", _PART)


class _RedOpType(Enum):
    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class _ReduceOpMeta(type):
    def __instancecheck__(cls, value):
        return type(value) in (ReduceOp, _RedOpType)


class ReduceOp(metaclass=_ReduceOpMeta):
    """How values of several processes become one: SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR.

    Example:
        >>> isinstance(ReduceOp.SUM, ReduceOp), ReduceOp(ReduceOp.MAX).op.name
        (True, 'MAX')
    """

    RedOpType = _RedOpType
    SUM, AVG, PRODUCT = _RedOpType.SUM, _RedOpType.AVG, _RedOpType.PRODUCT
    MIN, MAX, PREMUL_SUM = _RedOpType.MIN, _RedOpType.MAX, _RedOpType.PREMUL_SUM
    BAND, BOR, BXOR = _RedOpType.BAND, _RedOpType.BOR, _RedOpType.BXOR

    def __init__(self, op):
        if not isinstance(op, _RedOpType):
            raise TypeError(f"ReduceOp expected one of {list(_RedOpType)}, got {op!r}")
        self.op = op

    def __eq__(self, other):
        return self.op == (other.op if type(other) is ReduceOp else other)

    def __hash__(self):
        return hash(self.op)


class ProcessGroup:
    """A group of processes: this one."""

    def __init__(self, backend, name, description="undefined"):
        self._backend, self._name, self.group_desc = Backend(backend), name, description
        self.bound_device_id = None

    def rank(self):
        """The place of this process in the group: 0."""
        return 0

    def size(self):
        """How many processes are in the group: 1."""
        return 1

    def name(self):
        """The name of the library."""
        return self._backend

    @property
    def group_name(self):
        """The name of the group."""
        return self._name


class _World(type):
    @property
    def WORLD(cls):
        """The group of all processes; None before `init_process_group`."""
        return _state["default"]


class GroupMember(metaclass=_World):
    """`WORLD`, and what stands for a group that this process is not in."""

    NON_GROUP_MEMBER = -100


class group(metaclass=_World):
    """`WORLD`."""


_state: dict[str, Any] = {"default": None, "groups": {}, "store": None}


def is_initialized():
    """Whether `init_process_group` was called."""
    return _state["default"] is not None


def default_group():
    """The group of all processes; an error before `init_process_group`."""
    if _state["default"] is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call"
            " init_process_group."
        )
    return _state["default"]


def resolve(process_group):
    """The group that None means, or the group itself, which must be one of ours."""
    world = default_group()
    if process_group is None:
        return world
    if not isinstance(process_group, ProcessGroup) or process_group._name not in _state["groups"]:
        raise ValueError(f"{process_group!r} is not a group of this process")
    return process_group


def _from_environment(rank, world_size):
    values = []
    for name, given in (("RANK", rank), ("WORLD_SIZE", world_size)):
        if given == -1 and name not in os.environ:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment"
                f" variable {name} expected, but not set"
            )
        values.append(int(os.environ[name]) if given == -1 else given)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: environment"
                f" variable {name} expected, but not set"
            )
    return values


def _from_method(method, rank, world_size):
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(method)
    if parts.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    given = parse_qs(parts.query)
    rank = int(given["rank"][0]) if "rank" in given else rank
    world_size = int(given["world_size"][0]) if "world_size" in given else world_size
    if parts.scheme == "env":
        return _from_environment(rank, world_size)
    for name, value in (("rank", rank), ("world size", world_size)):
        if value == -1:
            raise ValueError(
                f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: {name}"
                " parameter missing"
            )
    return rank, world_size


def _checked_backend(name):
    """The library of tensors on the CPU: gloo, which "cpu:gloo,cuda:nccl" names as well."""
    if name is None or name in ("undefined", "gloo"):
        return "gloo"
    for entry in str(name).lower().split(","):
        device, _, library = entry.rpartition(":")
        if library not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {library}")
        if library in ("gloo", "fake") and device in ("", "cpu"):
            return library
    raise RuntimeError(f"Distributed package doesn't have {str(name).upper()} built in")


def init_process_group(
    backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None,
    group_name="", pg_options=None, device_id=None,
):  # fmt: skip
    """Starts a group of one process; more are not built yet.

    The rank and the number of processes come from the arguments, from ``init_method`` ("env://",
    the default, "tcp://…", "file://…") or with a ``store``.

    Raises:
        NotImplementedError: there is more than one process.

    Example:
        >>> init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        >>> get_rank(), get_world_size(), is_initialized()
        (0, 1, True)
        >>> destroy_process_group()
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    library = _checked_backend(backend)
    if store is not None:
        if world_size < 1 or rank < 0:
            raise AssertionError("world_size must be positive and rank non-negative with a store")
    else:
        rank, world_size = _from_method(init_method or "env://", rank, world_size)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not among {world_size} processes")
    if world_size > 1:
        raise missing(f"init_process_group of {world_size} processes", _PART)
    _state["store"] = store if isinstance(store, Store) else HashStore()
    _state["default"] = ProcessGroup(library, group_name or "0", "default_pg")
    _state["groups"] = {_state["default"]._name: _state["default"]}


def destroy_process_group(group=None):
    """Ends a group; without one, or with the group of all processes, all of them."""
    world = _state["default"]
    target = world if group is None else group
    if target == GroupMember.NON_GROUP_MEMBER:
        return
    if target is None:
        raise AssertionError("Process group cannot be None")
    if target is world:
        _state.update(default=None, groups={}, store=None)
    elif _state["groups"].pop(target.group_name, None) is None:
        raise ValueError("Invalid process group specified")


def new_group(
    ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False,
    group_desc=None, device_id=None, sort_ranks=True,
):  # fmt: skip
    """Another group of some of the processes, that is of this one."""
    world = default_group()
    ranks = [0] if ranks is None else list(ranks)
    if len(ranks) > 1:
        raise ValueError("the new group's world size should be less or equal to the world size")
    if any(r != 0 for r in ranks):
        raise ValueError("The new group's rank should be within the world_size set by init")
    if not ranks:
        return GroupMember.NON_GROUP_MEMBER
    library = world._backend if backend is None else _checked_backend(backend)
    made = ProcessGroup(library, str(_next_name()), group_desc or "undefined")
    _state["groups"][made._name] = made
    return made


def _next_name():
    _state["count"] = _state.get("count", 0) + 1
    return _state["count"]


def new_subgroups(
    group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None
):
    """This process's group of ``group_size`` processes, and the list of all such groups."""
    resolve(group)
    if group_size is not None and group_size != 1:
        raise ValueError(f"group_size {group_size} must divide the number of processes, 1")
    made = new_group([0], backend=backend, group_desc=group_desc)
    return made, [made]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None
):
    """Groups of given ranks, and among them this process's."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    made = [new_group(ranks, backend=backend) for ranks in ranks_per_subgroup_list]
    return next((g for g in made if g != GroupMember.NON_GROUP_MEMBER), None), made


def get_rank(group=None):
    """The place of this process in a group: 0, or -1 where it is not in it."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return -1
    return resolve(group).rank()


def get_world_size(group=None):
    """How many processes are in a group: 1, or -1 where this one is not in it."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return -1
    return resolve(group).size()


def get_backend(group=None):
    """The name of a group's library."""
    return resolve(group)._backend


def get_backend_config(group=None):
    """The libraries of a group by device, as text."""
    return f"cpu:{get_backend(group)}"


def get_group_rank(group, global_rank):
    """The place in a group of the process with a rank among all."""
    return _within(resolve(group), global_rank)


def get_global_rank(group, group_rank):
    """The rank among all processes of one in a group."""
    return _within(resolve(group), group_rank)


def _within(process_group, rank):
    if rank != 0:
        raise ValueError(f"rank {rank} is not part of group {process_group.group_name}")
    return rank


def get_process_group_ranks(group):
    """The ranks among all processes of those in a group."""
    resolve(group)
    return [0]


def get_pg_count():
    """How many groups there are."""
    return len(_state["groups"])


def get_node_local_rank(fallback_rank=None):
    """The place of this process on its machine, from LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment, and there is no fallback_rank")


def get_default_backend_for_device(device):
    """The library that PyTorch takes for a type of device."""
    name = device.type if isinstance(device, _C.device) else str(device).partition(":")[0]
    if name not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[name]
