"""Checkpoints that several processes write together."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "checkpoints of several processes",
    classes=(
        "AsyncCheckpointerType AsyncSaveResponse BytesStorageMetadata"
        " CheckpointException ChunkStorageMetadata DefaultLoadPlanner"
        " DefaultSavePlanner FileSystemReader FileSystemWriter HuggingFaceStorageReader"
        " HuggingFaceStorageWriter LoadPlan LoadPlanner Metadata"
        " QuantizedHuggingFaceStorageReader ReadItem SavePlan SavePlanner StorageReader"
        " StorageWriter StreamTransformExtension TensorStorageMetadata WriteItem"
    ),
    functions=(
        "async_save load load_sharded_optimizer_state_dict load_state_dict save save_state_dict"
    ),
)

_MODULES = {
    "_state_dict_stager",
    "default_planner",
    "filesystem",
    "format_utils",
    "metadata",
    "optimizer",
    "planner",
    "state_dict",
    "stateful",
    "storage",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
