"""Checkpoints to and from files of `torch.save`."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "checkpoints of several processes",
    classes=("BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner"),
    functions="dcp_to_torch_save torch_save_to_dcp _load_state_dict",
)
