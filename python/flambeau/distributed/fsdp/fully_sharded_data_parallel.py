"""Training whose parameters are spread over processes: names, and the choices."""

from __future__ import annotations

from enum import Enum, auto

from flambeau._absent import declare


class ShardingStrategy(Enum):
    """What is spread over processes."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the parameters of the next layer are fetched in the backward pass."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What a state dict holds."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """How an optimizer's state names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


__all__ = ["BackwardPrefetch", "OptimStateKeyType", "ShardingStrategy", "StateDictType"]

declare(
    globals(),
    "sharded training",
    classes=(
        "FullyShardedDataParallel CPUOffload MixedPrecision FullStateDictConfig"
        " LocalStateDictConfig ShardedStateDictConfig StateDictConfig"
        " OptimStateDictConfig FullOptimStateDictConfig LocalOptimStateDictConfig"
        " ShardedOptimStateDictConfig StateDictSettings"
    ),
    functions=(
        "FullyShardedDataParallel.fsdp_modules FullyShardedDataParallel.state_dict_type"
        " FullyShardedDataParallel.set_state_dict_type"
        " FullyShardedDataParallel.get_state_dict_type"
        " FullyShardedDataParallel.optim_state_dict"
        " FullyShardedDataParallel.optim_state_dict_to_load"
        " FullyShardedDataParallel.full_optim_state_dict"
        " FullyShardedDataParallel.shard_full_optim_state_dict"
        " FullyShardedDataParallel.scatter_full_optim_state_dict"
        " FullyShardedDataParallel.sharded_optim_state_dict"
        " FullyShardedDataParallel.flatten_sharded_optim_state_dict"
        " FullyShardedDataParallel.rekey_optim_state_dict"
        " FullyShardedDataParallel.summon_full_params"
    ),
)
